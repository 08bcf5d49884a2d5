/** persistentVolumeClaim: resolves the claim to a PersistentVolume, and delegates to its source.
 *  Source: claims and persistent volumes, document 3 §2.4 and §2.5. */
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimVolumeSource,
  PersistentVolumeSpec,
} from '#api/gen/core-v1.ts';
import {
  defineSource,
  type ReadyVolume,
  type SetUp,
  type SourceFields,
  type SourcePlugin,
  type SourceRequest,
} from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { bindFrom } from './bind-source.ts';

/** A pod's use of a claim. */
export interface ClaimUse extends PersistentVolumeClaimVolumeSource {
  /** Rejects a claim that is not for the pod. @throws VolumeSetupError */
  readonly check?: (claim: PersistentVolumeClaim) => void;
}

interface Found {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume;
}

async function findVolume(request: SourceRequest, use: ClaimUse): Promise<Found> {
  const { namespace } = request;
  const { claimName } = use;
  const { objects } = request.services;
  const what = `PersistentVolumeClaim ${namespace}/${claimName}`;
  const claim = await objects.getPersistentVolumeClaim(namespace, claimName);
  if (claim === undefined) throw new VolumeSetupError(`${what} not found`);
  use.check?.(claim);
  const volumeName = claim.spec?.volumeName ?? '';
  if (volumeName === '') throw new VolumeSetupError(`${what} is not bound: it has no spec.volumeName`);
  const volume = await objects.getPersistentVolume(volumeName);
  if (volume === undefined) {
    throw new VolumeSetupError(`${what} is bound to PersistentVolume ${volumeName}, which was not found`);
  }
  checkBinding(what, claim, volume, namespace);
  return { claim, volume };
}

function checkBinding(
  what: string,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  namespace: string,
): void {
  const name = volume.metadata?.name ?? '';
  const ref = volume.spec?.claimRef;
  if (ref !== undefined) {
    const sameName = ref.namespace === namespace && ref.name === claim.metadata?.name;
    const uid = claim.metadata?.uid;
    if (!sameName || (ref.uid !== undefined && uid !== undefined && ref.uid !== uid)) {
      throw new VolumeSetupError(
        `${what} names PersistentVolume ${name}, which belongs to another claim, ${ref.namespace}/${ref.name}`,
      );
    }
  }
}

/** Returns the source in a PersistentVolume's spec, without its other fields. */
function sourceFields(spec: PersistentVolumeSpec): SourceFields {
  const {
    accessModes: _modes,
    capacity: _capacity,
    claimRef: _claim,
    mountOptions: _options,
    nodeAffinity: _affinity,
    persistentVolumeReclaimPolicy: _policy,
    storageClassName: _class,
    volumeMode: _mode,
    ...source
  } = spec;
  return source;
}

function bindSource(plugins: readonly SourcePlugin[], volume: PersistentVolume): SetUp {
  const fields = sourceFields(volume.spec ?? {});
  const setUp = bindFrom(plugins, fields);
  if (setUp !== undefined) return setUp;
  const source = Object.keys(fields)[0] ?? 'none';
  throw new VolumeSetupError(
    `PersistentVolume ${volume.metadata?.name} has a source that this agent cannot mount: ${source}`,
  );
}

/** A volume must be used according to its mode. Source: upstream's volume manager, release 1.24. */
function checkMode(request: SourceRequest, volume: PersistentVolume): void {
  const volumeMode = volume.spec?.volumeMode ?? 'Filesystem';
  if (request.block === (volumeMode === 'Block')) return;
  const where = request.block ? 'volumeDevices' : 'volumeMounts';
  throw new VolumeSetupError(
    `volume ${request.volumeName} has volumeMode ${volumeMode}, but is specified in ${where}`,
  );
}

/** Sets up the volume that the claim is bound to.
 *  @throws VolumeSetupError */
export async function setUpClaim(
  plugins: readonly SourcePlugin[],
  use: ClaimUse,
  request: SourceRequest,
): Promise<ReadyVolume> {
  const { claim, volume: persistentVolume } = await findVolume(request, use);
  checkMode(request, persistentVolume);
  await request.use(persistentVolume.spec ?? {});
  const setUp = bindSource(plugins, persistentVolume);
  const ready = await setUp({
    ...request,
    persistentVolume,
    readOnly: request.readOnly || use.readOnly === true,
    mountOptions: persistentVolume.spec?.mountOptions ?? [],
  });
  return followGrowth(request, { claim, volume: persistentVolume }, ready);
}

/** Expands the volume first if required, and repeatedly while the pod uses it. */
async function followGrowth(
  { services, pod, signal }: SourceRequest,
  found: Found,
  ready: ReadyVolume,
): Promise<ReadyVolume> {
  const { expand, readOnly } = ready;
  const { expander, objects } = services;
  if (expander === undefined || expand === undefined) return ready;
  return { ...ready, maintain: await expander.follow({ pod, ...found, readOnly, expand }, objects, signal) };
}

/** @param plugins sources of PersistentVolumes */
export function createPersistentVolumeClaim(plugins: readonly SourcePlugin[]): SourcePlugin {
  return defineSource(
    'persistentVolumeClaim',
    {
      summary: 'The PersistentVolume that a claim is bound to.',
      use: 'pod',
      block: true,
      mountOptions: true,
    },
    (spec, request) => setUpClaim(plugins, spec, request),
  );
}
