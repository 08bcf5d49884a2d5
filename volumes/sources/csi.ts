/** csi: a volume of a driver that has registered on the node. Source: volume sources, document 3 §2.3 and
 *  §2.5. */

import type { CSIDriver, VolumeAttachmentSource } from '#api/gen/storage-v1.ts';
import { migrateSource, migrationOf } from '#api/meta/csi-migration.ts';
import { csiVolumeName } from '#api/meta/volume-names.ts';
import type { CsiVolumes } from '../contract/csi.ts';
import {
  defineSource,
  type ReadyVolume,
  type SetUp,
  type SourceFields,
  type SourcePlugin,
  type SourceRequest,
} from '../contract/source.ts';
import {
  CSI_DIR,
  type Publishing,
  publishVolume,
  readyBefore,
  targetOf,
  unpublishVolume,
} from '../csi/publish.ts';
import { detachVolume, type Staged, stageVolume, unstageVolume } from '../csi/stage.ts';
import { type CsiVolume, checkLifecycle, ephemeralHandle } from '../csi/volume.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

type CsiFields = NonNullable<SourceFields['csi']>;

const NOT_STAGED: Staged = { publishContext: {}, stagingTargetPath: '' };

function ephemeralVolume(spec: CsiFields, { pod, volumeName }: SourceRequest): CsiVolume {
  return {
    kind: 'ephemeral',
    driver: spec.driver,
    handle: ephemeralHandle(pod.metadata?.uid ?? '', volumeName),
    fsType: spec.fsType ?? '',
    readOnly: spec.readOnly === true,
    attributes: spec.volumeAttributes ?? {},
    accessModes: ['ReadWriteOnce'],
    mountOptions: [],
    ...(spec.nodePublishSecretRef === undefined ? {} : { publishSecret: spec.nodePublishSecretRef }),
  };
}

/** @param handle of the volume, unless it is an inline volume */
function persistentVolume(spec: CsiFields, handle: string, request: SourceRequest): CsiVolume {
  const stageSecret = 'nodeStageSecretRef' in spec ? spec.nodeStageSecretRef : undefined;
  return {
    ...ephemeralVolume(spec, request),
    kind: 'persistent',
    handle,
    accessModes: request.persistentVolume?.spec?.accessModes ?? ['ReadWriteOnce'],
    mountOptions: request.mountOptions,
    ...(stageSecret === undefined ? {} : { stageSecret }),
  };
}

/** Returns the name by which the attachment refers to its volume. */
function attachmentSource(
  volume: CsiVolume,
  { persistentVolume: pv }: SourceRequest,
): VolumeAttachmentSource {
  const name = pv?.metadata?.name;
  if (name !== undefined) return { persistentVolumeName: name };
  const { driver, handle: volumeHandle, fsType, readOnly, attributes, accessModes } = volume;
  return {
    inlineVolumeSpec: {
      accessModes,
      csi: { driver, volumeHandle, fsType, readOnly, volumeAttributes: attributes },
    },
  };
}

async function stageOf(
  publishing: Publishing,
  csi: CsiVolumes,
  object: CSIDriver | undefined,
): Promise<Staged> {
  const { volume, use, request } = publishing;
  if (volume.kind === 'ephemeral') return NOT_STAGED;
  const driver = csi.drivers.get(volume.driver);
  const source = attachmentSource(volume, request);
  const uniqueName = csiVolumeName(request.services.domain, volume.driver, volume.handle);
  let staged = NOT_STAGED;
  await request.stage({
    uniqueName,
    stage: async (folder, signal) => {
      staged = await stageVolume({ volume, driver, object, csi, use, source, request }, folder, signal);
    },
  });
  return staged;
}

/** Sets up a volume, however it was specified. */
async function setUpVolume(volume: CsiVolume, request: SourceRequest): Promise<ReadyVolume> {
  const { csi } = request.services;
  if (csi === undefined) throw new VolumeSetupError('this agent does not support CSI drivers');
  const object = await csi.driverObject(volume.driver);
  const publishing: Publishing = {
    volume,
    object,
    csi,
    use: { block: request.block, fsGroup: request.fsGroup },
    readOnly: volume.readOnly || request.readOnly,
    target: targetOf(request.dir(CSI_DIR), request.block),
    request,
  };
  const before = await readyBefore(publishing, (await request.remembered?.()) ?? {});
  if (before !== undefined) return before;
  checkLifecycle(volume, object);
  const driver = csi.drivers.get(volume.driver);
  return await publishVolume(publishing, driver, await stageOf(publishing, csi, object));
}

async function setUp(spec: CsiFields, request: SourceRequest): Promise<ReadyVolume> {
  if (!('volumeHandle' in spec)) {
    if (request.services.csi?.gates.has('CSIInlineVolume') === false) {
      throw new VolumeSetupError('inline csi volumes are disabled (CSIInlineVolume)');
    }
    return setUpVolume(ephemeralVolume(spec, request), request);
  }
  await request.use({ csi: spec });
  return setUpVolume(persistentVolume(spec, spec.volumeHandle, request), request);
}

/** Wraps a source that is handled by its CSI driver, or disabled, if the feature gates say so. Source: CSI
 *  migration, document 3 §4.4. */
export function migratable(plugin: SourcePlugin): SourcePlugin {
  const migration = migrationOf(plugin.name);
  return {
    ...plugin,
    about: { ...plugin.about, ...(migration === undefined ? {} : { migration }) },
    bind(fields) {
      const setUpSelf = plugin.bind(fields);
      return setUpSelf && ((request) => setUpMigrated({ name: plugin.name, fields }, request, setUpSelf));
    },
  };
}

/** Gates that leave a source to its CSI driver alone. */
const UNREGISTER_GATES = {
  awsElasticBlockStore: 'InTreePluginAWSUnregister',
  azureDisk: 'InTreePluginAzureDiskUnregister',
  azureFile: 'InTreePluginAzureFileUnregister',
  cinder: 'InTreePluginOpenStackUnregister',
  gcePersistentDisk: 'InTreePluginGCEUnregister',
  portworxVolume: 'InTreePluginPortworxUnregister',
  rbd: 'InTreePluginRBDUnregister',
  vsphereVolume: 'InTreePluginvSphereUnregister',
} as const;

/** @throws VolumeSetupError for a source that a gate disables */
function checkRegistered(name: string, gates: ReadonlySet<string> = new Set()): void {
  const [, gate] = Object.entries(UNREGISTER_GATES).find(([source]) => source === name) ?? [];
  if (gate === undefined || !gates.has(gate)) return;
  throw new VolumeSetupError(`no volume plugin matched: the feature gate ${gate} disables source ${name}`);
}

async function setUpMigrated(
  { name, fields }: { readonly name: string; readonly fields: SourceFields },
  request: SourceRequest,
  setUpSelf: SetUp,
): Promise<ReadyVolume> {
  const { csi: served, domain } = request.services;
  const labels = request.persistentVolume?.metadata?.labels ?? {};
  const found = served && migrateSource(fields, { domain, gates: served.gates, labels });
  if (found === undefined) {
    checkRegistered(name, served?.gates);
    return setUpSelf(request);
  }
  const { plugin: _, ...spec } = found;
  const migrated = { ...request, ...request.undoable('csi') };
  await migrated.use({ csi: spec });
  return setUpVolume(persistentVolume(spec, spec.volumeHandle, migrated), migrated);
}

export const csi: SourcePlugin = defineSource(
  'csi',
  {
    summary: 'A volume of a CSI driver that has registered on the node.',
    use: 'both',
    block: true,
    mountOptions: true,
    notes: [
      'Drivers register through a socket in `<root-dir>/plugins_registry`.',
      'On a standalone node, put the CSIDriver object beside the pod manifests. A driver that requires attachment needs an API server.',
    ],
  },
  setUp,
  {
    tearDown: unpublishVolume,
    beforeUnstage: unstageVolume,
    unstage: (record, _folder, services, signal) => detachVolume(record, services, signal),
  },
);
