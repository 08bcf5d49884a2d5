/** Path traversal tests: `..` in every field of CSI volumes and of claims, with drivers and objects that
 *  accept any name. Nothing is created, and no driver is directed, outside the allowed directories. */
import { existsSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import type {
  CSIPersistentVolumeSource,
  CSIVolumeSource,
  PersistentVolume,
  PersistentVolumeClaim,
} from '#api/gen/core-v1.ts';
import type { ObjectMeta } from '#api/gen/meta-v1.ts';
import type { Node as NodeService } from '#cri/gen/csi-v1.ts';
import type { CsiVolumes, Driver } from '../contract/csi.ts';
import type { SourceFields, SourceRequest } from '../contract/source.ts';
import { stageDir, volumeDir } from '../files/layout.ts';
import { createTestRequest, type TestRequest, testSecret } from '../network/request.fixture.ts';
import { ESCAPES, replaced, textsIn } from './escapes.fixture.ts';
import { POD_SOURCES } from './table.ts';

const ref = { name: 's', namespace: 'default' };
const claimRef = { name: 'claim', namespace: 'default' };

/** A way to specify a volume, with every field set that could contain a path. */
interface Way {
  readonly inline: CSIVolumeSource;
  readonly claim: PersistentVolumeClaim;
  readonly use: { readonly claimName: string };
  readonly volume: {
    readonly metadata: ObjectMeta;
    readonly spec: { readonly csi: CSIPersistentVolumeSource };
  };
  readonly template: NonNullable<SourceFields['ephemeral']>;
  readonly pod: { readonly name: string; readonly volume: string };
}

const WAY: Way = {
  inline: {
    driver: 'd.example',
    fsType: 'ext4',
    volumeAttributes: { a: 'b' },
    nodePublishSecretRef: { name: 's' },
  },
  use: { claimName: 'claim' },
  claim: { metadata: { name: 'claim', namespace: 'default' }, spec: { volumeName: 'pv' } },
  volume: {
    metadata: { name: 'pv' },
    spec: {
      csi: {
        driver: 'd.example',
        volumeHandle: 'h',
        fsType: 'ext4',
        volumeAttributes: { a: 'b' },
        nodeStageSecretRef: ref,
        nodePublishSecretRef: ref,
        controllerPublishSecretRef: ref,
        controllerExpandSecretRef: ref,
      },
    },
  },
  template: {
    volumeClaimTemplate: {
      metadata: { name: 't', labels: { a: 'b' }, annotations: { a: 'b' } },
      spec: { storageClassName: 'c', volumeName: 'pv', dataSource: { kind: 'K', name: 'n', apiGroup: 'g' } },
    },
  },
  pod: { name: 'web', volume: 'data' },
};

/** Values for the driver only, which are not paths of this node. */
const DRIVERS_OWN: ReadonlySet<string> = new Set(['volumeId', 'fsType', 'volumeContext']);
const PATHS: ReadonlySet<string> = new Set(['targetPath', 'stagingTargetPath']);

interface SentString {
  readonly key: string;
  readonly text: string;
}

/** Returns every string passed to a driver with its member name. */
function stringsIn(value: unknown, key = ''): readonly SentString[] {
  if (typeof value === 'string') return [{ key, text: value }];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) =>
    stringsIn(inner, DRIVERS_OWN.has(key) ? key : name),
  );
}

const isBeneath = (base: string, path: string): boolean =>
  path === normalize(path) && path.startsWith(`${base}/`);

function leadsAway(base: string, { key, text }: SentString): boolean {
  // Without staging there is no staging directory.
  if (PATHS.has(key)) return text !== '' && !isBeneath(base, text);
  return !DRIVERS_OWN.has(key) && text.includes('..');
}

/** Creates a driver that accepts everything. */
function permissiveDriver(requests: unknown[]): CsiVolumes {
  const note = async (request: unknown): Promise<object> => {
    requests.push(request);
    return {};
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of the driver's calls these are the ones that are made
  const node = { nodeStageVolume: note, nodePublishVolume: note } as unknown as NodeService;
  const driverOf = (name: string): Driver => ({
    name,
    endpoint: '',
    nodeID: 'n',
    topology: {},
    maxVolumes: undefined,
    capabilities: new Set(['STAGE_UNSTAGE_VOLUME']),
    node,
  });
  return {
    drivers: { list: () => [], get: driverOf, onChange: () => () => undefined },
    driverObject: async (name) => ({
      metadata: { name },
      spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral', 'Persistent'] },
    }),
    gates: new Set(['CSIInlineVolume']),
    apiGroupDomain: 'storage.example',
  };
}

function requestFor(t: TestRequest, way: Way, csi: CsiVolumes): SourceRequest {
  const { services, pod } = t.request;
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'pod-1', controller: true };
  const claim = { ...way.claim, metadata: { ...way.claim.metadata, ownerReferences: [owner] } };
  const volume: PersistentVolume = {
    ...way.volume,
    spec: { claimRef, accessModes: ['ReadWriteOnce'], ...way.volume.spec },
  };
  return {
    ...t.request,
    pod: { ...pod, metadata: { ...pod.metadata, name: way.pod.name } },
    volumeName: way.pod.volume,
    dir: (source) => volumeDir(t.base, { podUID: 'pod-1', source, volumeName: way.pod.volume, block: false }),
    services: {
      ...services,
      csi,
      objects: {
        ...services.objects,
        getSecret: async () => testSecret('default', 's', { k: 'v' }),
        getPersistentVolumeClaim: async () => claim,
        getPersistentVolume: async () => volume,
      },
    },
  };
}

const FIELDS = textsIn(WAY, 'way').map((path) => path.slice('way.'.length));

test.concurrent.each(
  FIELDS.flatMap((field) =>
    (['csi', 'persistentVolumeClaim', 'ephemeral'] as const).map((source) => [field, source] as const),
  ),
)('%s can’t lead a volume of %s anywhere else', async (field, source) => {
  for (const escape of ESCAPES) {
    await using t = await createTestRequest();
    await mkdir(join(t.base, 'original'));
    const requests: unknown[] = [];
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a copy with another text in it
    const way = replaced(WAY, field.split('.'), escape) as Way;
    const fields: SourceFields = {
      csi: { csi: way.inline },
      persistentVolumeClaim: { persistentVolumeClaim: way.use },
      ephemeral: { ephemeral: way.template },
    }[source];
    const plugin = POD_SOURCES.find(({ name }) => name === source);
    if (plugin === undefined) throw new Error(`no source ${source}`);
    const outcome = await plugin
      .bind(fields)?.(requestFor(t, way, permissiveDriver(requests)))
      .then(
        ({ hostPath }) => hostPath,
        (thrown: unknown) => String(thrown),
      );
    expect(stringsIn(requests).filter((one) => leadsAway(t.base, one))).toEqual([]);
    const folders = t.staged.map((unique) => stageDir(t.base, 'd.example~csi', unique));
    const ready = outcome?.startsWith('/') === true ? [outcome] : [];
    expect([...folders, ...ready].filter((path) => !isBeneath(t.base, path))).toEqual([]);
    for (const place of [t.base, join(t.base, '..'), '/'])
      expect(existsSync(join(place, 'escape'))).toBe(false);
    const created = await readdir(t.base, { recursive: true });
    expect(created.filter((name) => name.endsWith('escape'))).toEqual([]);
  }
});
