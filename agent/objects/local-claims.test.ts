import { describe, expect, test } from 'vitest';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { LocalVolume, LocalVolumes } from '#volumes/contract/local-volumes.ts';
import type { ConfigObject } from '../sources/types.ts';
import { claimNames, decideLocalClaim, localVolumeName } from './local-claim.ts';
import { createLocalClaims } from './local-claims.ts';
import { createObjectStore } from './store.ts';

const NAMES = claimNames(VOCABULARIES.plat);

const claim = (
  spec: Partial<PersistentVolumeClaimSpec> = {},
  annotations: Readonly<Record<string, string>> = {},
): PersistentVolumeClaim & { readonly kind: 'PersistentVolumeClaim' } => ({
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'default', name: 'data', annotations },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
});

describe('decideLocalClaim', () => {
  const GIB = 2 ** 30;

  test.each<[string, PersistentVolumeClaim, object]>([
    ['without a class: a directory', claim(), { kind: 'directory', reclaimPolicy: 'Retain', sizeBytes: GIB }],
    ['local-directory', claim({ storageClassName: 'local-directory' }), { kind: 'directory' }],
    ['local-filesystem', claim({ storageClassName: 'local-filesystem' }), { kind: 'filesystem' }],
    ['Delete', claim({}, { [NAMES.reclaimPolicy]: 'Delete' }), { reclaimPolicy: 'Delete' }],
  ])('creates a volume for %s', (_, given, spec) => {
    expect(decideLocalClaim(given, [], NAMES)).toMatchObject({
      kind: 'create',
      spec: {
        name: 'default_data',
        owner: 'manifest',
        claim: { namespace: 'default', name: 'data' },
        ...spec,
      },
    });
  });

  test.each<[string, PersistentVolumeClaim]>([
    ['that is bound', claim({ volumeName: 'pv' })],
    ['that wants no provisioning', claim({ storageClassName: '' })],
    ['of another class', claim({ storageClassName: 'fast' })],
    ['with a selector', claim({ selector: { matchLabels: { a: 'b' } } })],
  ])('creates none for a claim %s', (_, given) => {
    expect(decideLocalClaim(given, [], NAMES)).toEqual({ kind: 'none' });
  });

  test('prefers the volume that is reserved for the claim', () => {
    const volume = {
      metadata: { name: 'pv' },
      spec: { claimRef: { namespace: 'default', name: 'data' } },
    };
    expect(decideLocalClaim(claim(), [volume], NAMES)).toEqual({ kind: 'volume', name: 'pv' });
  });

  test.each<[PersistentVolumeClaim, RegExp]>([
    [claim({ volumeMode: 'Block' }), /default\/data: spec\.volumeMode Block is not supported/],
    [claim({}, { [NAMES.reclaimPolicy]: 'Recycle' }), /reclaim-policy is "Recycle"; use Delete or Retain/],
  ])('rejects %#', (given, message) => {
    expect(() => decideLocalClaim(given, [], NAMES)).toThrow(message);
  });

  test('long names differ', () => {
    const named = (end: string): string =>
      localVolumeName({ metadata: { namespace: 'n'.repeat(63), name: `${'c'.repeat(250)}${end}` } });
    expect(named('a')).not.toBe(named('b'));
    expect(named('a').length).toBeLessThan(250);
  });
});

function createWorld(objects: readonly ConfigObject[], found: readonly Partial<LocalVolume>[] = []) {
  const store = createObjectStore();
  const origin = { source: 'file', location: 'm', document: '1' } as const;
  store.replace(objects.map((object) => ({ object, origin })));
  const removed: string[] = [];
  const known = new Map<string, LocalVolume>();
  for (const each of found) {
    const volume: LocalVolume = {
      name: 'x',
      kind: 'directory',
      owner: 'manifest',
      sizeBytes: 1,
      reclaimPolicy: 'Delete',
      claim: { namespace: 'default', name: 'data' },
      path: '/v',
      used: true,
      ...each,
    };
    known.set(volume.name, volume);
  }
  const volumes: Pick<LocalVolumes, 'create' | 'get' | 'list' | 'remove'> = {
    async create(spec) {
      const volume = { ...spec, path: `/v/${spec.name}`, used: false };
      known.set(spec.name, volume);
      return volume;
    },
    get: async (name) => known.get(name),
    list: async () => [...known.values()],
    async remove(name) {
      removed.push(name);
      return true;
    },
  };
  const claims = createLocalClaims({ objects: store, volumes, names: NAMES, log: silentLogger });
  return { claims, reader: claims.reader(store), removed };
}

describe('createLocalClaims', () => {
  test('binds a claim to a new volume', async () => {
    const { reader } = createWorld([claim()]);
    const bound = await reader.getPersistentVolumeClaim('default', 'data');
    expect(bound?.spec?.volumeName).toBe('default_data');
    expect(await reader.getPersistentVolume('default_data')).toMatchObject({
      spec: { local: { path: '/v/default_data' }, claimRef: { namespace: 'default', name: 'data' } },
    });
    expect(await reader.getPersistentVolumeClaim('default', 'other')).toBeUndefined();
  });

  test('shows no volume of another owner', async () => {
    const { reader } = createWorld([], [{ name: 'pvc-1', owner: 'server' }]);
    expect(await reader.getPersistentVolume('pvc-1')).toBeUndefined();
  });

  test('removes volumes without claims that are to be deleted, or have no content', async () => {
    const { claims, removed } = createWorld(
      [claim()],
      [
        { name: 'default_data' },
        { name: 'default_gone' },
        { name: 'default_retained', reclaimPolicy: 'Retain' },
        { name: 'default_unused', reclaimPolicy: 'Retain', used: false },
        { name: 'pvc-1', owner: 'server' },
      ],
    );
    await claims.collect();
    expect(removed).toEqual(['default_gone', 'default_unused']);
  });
});
