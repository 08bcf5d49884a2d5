import { describe, expect, test } from 'vitest';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { adoptChild, type ClaimDeps, decideClaims, executeClaims } from './claim.ts';
import { cachedOf, podOf } from './kit.fixture.ts';

const requirements = [{ key: 'app', operator: 'in', values: ['a'] }] as const;
const names = (pods: readonly { name: string }[]): readonly string[] => pods.map(({ name }) => name);

describe('decideClaims', () => {
  const owned = [podOf('kept', { labels: { app: 'a' } }), podOf('left', { labels: { app: 'b' } })];
  const orphans = [
    podOf('found', { labels: { app: 'a' } }),
    podOf('other', { labels: { app: 'b' } }),
    podOf('going', { labels: { app: 'a' }, deleting: true }),
  ];

  test('keeps, takes and lets go by the selector', () => {
    const { keep, adopt, release } = decideClaims({ deleting: false, requirements }, owned, orphans);
    expect([names(keep), names(adopt), names(release)]).toEqual([['kept'], ['found'], ['left']]);
  });

  test('takes and lets go nothing once the owner is on its way out', () => {
    const { keep, adopt, release } = decideClaims({ deleting: true, requirements }, owned, orphans);
    expect([names(keep), names(adopt), names(release)]).toEqual([['kept'], [], []]);
  });

  test('takes nothing where nothing is selected', () => {
    expect(decideClaims({ deleting: false, requirements: [] }, [], orphans).adopt).toEqual([]);
  });
});

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test does not read it
const resource = {} as Resource;
const reference = (uid: string): OwnerReference => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  name: uid,
  uid,
  controller: true,
});

/** Objects by name, updated by the requested changes. */
function createWorld(
  ...objects: readonly ApiObject[]
): ClaimDeps & { readonly objects: Map<string, ApiObject> } {
  const byName = new Map(objects.map((object) => [object.metadata.name ?? '', object]));
  const find = (name: string): ApiObject => {
    const object = byName.get(name);
    if (object === undefined) throw new StatusError('NotFound', name);
    return object;
  };
  return {
    objects: byName,
    fieldManager: 'test',
    caller: {
      user: { name: 'me', groups: [], extra: {} },
      signal: new AbortController().signal,
      warn: () => undefined,
      annotate: () => undefined,
    },
    verbs: {
      get: ({ name }) => Promise.resolve(cachedOf(find(name))),
      async update({ ref: { name }, change }) {
        if (typeof change !== 'function') throw new Error('a claim is a function');
        const object = await change(structuredClone(find(name)));
        byName.set(name, object);
        return { object };
      },
    },
  };
}

const object = (name: string, more: Partial<ApiObject['metadata']> = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid: `uid-${name}`, ...more },
});

describe('executeClaims', () => {
  const claims = { keep: [podOf('kept')], adopt: [podOf('found'), podOf('gone')], release: [podOf('left')] };
  const request = {
    owner: { resource, namespace: '', name: 'set' },
    reference: reference('uid-set'),
    resource,
    claims,
  };

  test('sets and removes references; deleted objects are not counted', async () => {
    const world = createWorld(
      object('set'),
      object('kept'),
      object('found'),
      object('left', { ownerReferences: [reference('uid-set'), reference('uid-else')] }),
    );
    expect(names(await executeClaims(world, request))).toEqual(['kept', 'found']);
    const owners = (name: string): readonly string[] =>
      (world.objects.get(name)?.metadata.ownerReferences ?? []).map(({ uid }) => uid);
    expect(owners('found')).toEqual(['uid-set']);
    expect(owners('left')).toEqual(['uid-else']);
  });

  test.each([
    ['is being deleted', object('set', { deletionTimestamp: '2026-01-01T00:00:00Z' })],
    ['is another object by now', object('set', { uid: 'uid-new' })],
  ])('adopts nothing if the owner %s', async (_, owner) => {
    const world = createWorld(owner, object('found'), object('left'));
    await expect(executeClaims(world, request)).rejects.toMatchObject({ reason: 'Conflict' });
    expect(world.objects.get('found')?.metadata.ownerReferences).toBeUndefined();
  });
});

describe('adoptChild', () => {
  const ref = { resource, namespace: '', name: 'found' };

  test('leaves objects that another owner adopted', async () => {
    const world = createWorld(object('found', { ownerReferences: [reference('uid-else')] }));
    await expect(adoptChild(world, ref, 'uid-found', reference('uid-set'))).rejects.toMatchObject({
      reason: 'Conflict',
    });
  });

  test('leaves an object that was recreated', async () => {
    const world = createWorld(object('found', { uid: 'uid-new' }));
    await expect(adoptChild(world, ref, 'uid-found', reference('uid-set'))).rejects.toMatchObject({
      reason: 'NotFound',
    });
  });
});
