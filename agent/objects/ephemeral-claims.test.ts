import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSpec,
  Pod,
} from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import type { ConfigObject } from '../sources/types.ts';
import { matchVolume } from './claim-match.ts';
import { createEphemeralClaims, type EphemeralClaims } from './ephemeral-claims.ts';
import { createObjectStore } from './store.ts';

const volume = (name: string, spec: Partial<PersistentVolumeSpec> = {}) =>
  ({
    kind: 'PersistentVolume',
    metadata: { name, labels: { of: name } },
    spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, ...spec },
  }) as const satisfies ConfigObject;

const WANTED: PersistentVolumeClaimSpec = {
  accessModes: ['ReadWriteOnce'],
  resources: { requests: { storage: '1Gi' } },
};

const claim = (spec: Partial<PersistentVolumeClaimSpec> = {}): PersistentVolumeClaim => ({
  metadata: { name: 'web-data', namespace: 'default' },
  spec: { ...WANTED, ...spec },
});

describe('matchVolume', () => {
  const nobody = { names: new Set<string>() };

  test.each<[string, ReturnType<typeof volume>[], Partial<PersistentVolumeClaimSpec>, string]>([
    ['the smallest', [volume('b', { capacity: { storage: '5Gi' } }), volume('c'), volume('d')], {}, 'c'],
    [
      'one that is kept for it',
      [volume('a'), volume('b', { claimRef: { namespace: 'default', name: 'web-data' } })],
      {},
      'b',
    ],
    ['the one that it names', [volume('a'), volume('b')], { volumeName: 'b' }, 'b'],
    ['one that is selected', [volume('a'), volume('b')], { selector: { matchLabels: { of: 'b' } } }, 'b'],
  ])('selects %s', (_, volumes, spec, name) => {
    expect(matchVolume(claim(spec), volumes, nobody)).toEqual({ kind: 'volume', name });
  });

  test.each<[ReturnType<typeof volume>[], Partial<PersistentVolumeClaimSpec>, string]>([
    [[], {}, 'the manifests define none'],
    [[volume('a')], { volumeName: 'b' }, 'b does not exist'],
    [[volume('a', { capacity: { storage: '1Mi' } })], {}, 'a is smaller than 1Gi'],
    [[volume('a', { volumeMode: 'Block' })], {}, 'a has volumeMode Block'],
    [[volume('a')], { accessModes: ['ReadWriteMany'] }, 'a lacks the access mode ReadWriteMany'],
    [[volume('a', { storageClassName: 'fast' })], {}, 'a has the storage class "fast"'],
    [[volume('a', { claimRef: { namespace: 'x', name: 'y' } })], {}, 'a is reserved for claim x/y'],
    [[volume('a')], { selector: { matchLabels: { of: 'b' } } }, 'a does not match the selector'],
  ])('reports why there is none: %#', (volumes, spec, why) => {
    expect(matchVolume(claim(spec), volumes, nobody)).toEqual({ kind: 'none', why });
  });

  test('skips bound volumes', () => {
    const why = 'a is bound to another claim';
    expect(matchVolume(claim(), [volume('a')], { names: new Set(['a']) })).toEqual({ kind: 'none', why });
  });
});

const pod = (uid: string, name = 'web'): Pod => ({
  metadata: { name, namespace: 'default', uid },
  spec: {
    containers: [],
    volumes: [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: WANTED } } }],
  },
});

async function createWorld(objects: readonly ConfigObject[]) {
  const folder = await createTempDir('na-claims-');
  const store = createObjectStore();
  const origin = { source: 'file', location: '/m', document: '1' } as const;
  store.replace(objects.map((object) => ({ origin, object })));
  for (const uid of ['u1', 'u2']) await mkdir(join(folder.path, 'pods', uid), { recursive: true });
  return {
    root: folder.path,
    start: () => createEphemeralClaims({ objects: store, rootDir: folder.path, log: silentLogger }),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

const read = (claims: EphemeralClaims, of: Pod): Promise<PersistentVolumeClaim | undefined> =>
  claims.readerFor(of).getPersistentVolumeClaim('default', `${of.metadata?.name}-data`);

describe('createEphemeralClaims', () => {
  test('creates the claim for the pod, and another for another pod', async () => {
    await using world = await createWorld([volume('a'), volume('b')]);
    const claims = world.start();
    const [first, second] = await Promise.all([read(claims, pod('u1')), read(claims, pod('u2', 'other'))]);
    expect(first?.metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1', controller: true },
    ]);
    expect([first?.spec?.volumeName, second?.spec?.volumeName]).toEqual(['a', 'b']);
    expect((await read(claims, pod('u1')))?.spec?.volumeName).toBe('a');
  });

  test('persists it across a restart, until the pod is deleted', async () => {
    await using world = await createWorld([volume('a')]);
    await read(world.start(), pod('u1'));
    const again = world.start();
    await expect(read(again, pod('u2'))).rejects.toThrow(
      'no PersistentVolume of the manifests matches claim default/web-data: a is bound to another claim',
    );
    expect((await read(again, pod('u1')))?.spec?.volumeName).toBe('a');
    await again.release('u1');
    expect((await read(world.start(), pod('u2')))?.spec?.volumeName).toBe('a');
  });

  test('releases volumes that a killed agent left to deleted pods', async () => {
    await using world = await createWorld([volume('a')]);
    await read(world.start(), pod('gone'));
    expect((await read(world.start(), pod('u1')))?.spec?.volumeName).toBe('a');
  });

  test('starts empty when its file is unreadable', async () => {
    await using world = await createWorld([volume('a')]);
    await writeFile(join(world.root, 'ephemeral-claims.json'), '{"version":1,"claims"');
    expect((await read(world.start(), pod('u1')))?.spec?.volumeName).toBe('a');
  });

  test('skips volumes of claims in manifests, and hides no claim with the same name', async () => {
    const of = (name: string, volumeName: string): ConfigObject => ({
      kind: 'PersistentVolumeClaim',
      metadata: { name, namespace: 'default' },
      spec: { volumeName },
    });
    await using world = await createWorld([volume('a'), of('db', 'a'), of('thief-data', 'x')]);
    const claims = world.start();
    await expect(read(claims, pod('u1'))).rejects.toThrow('a is bound to another claim');
    expect((await read(claims, pod('u1', 'thief')))?.metadata?.ownerReferences).toBeUndefined();
  });
});
