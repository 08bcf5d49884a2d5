import { expect, test } from 'vitest';
import type { CacheChange, CachedObject, ResourceCache } from '../../cache/contract.ts';
import { followFleet } from './fleet.ts';

const cachedNode = (name: string): CachedObject => {
  const object = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  const cached: unknown = { key: name, name, namespace: '', labels: {}, object: () => object };
  return cached as CachedObject;
};

/** Followers are called for existing objects before `follow` returns. */
const holding = (...objects: readonly CachedObject[]): Pick<ResourceCache, 'follow'> => ({
  follow(listener: (change: CacheChange) => void) {
    for (const current of objects) listener({ type: 'ADDED', current });
    return { close: () => undefined };
  },
});

test('a fleet with initial nodes reports its zones before it is returned', () => {
  const heard: string[] = [];
  followFleet(
    {
      nodes: holding(cachedNode('a'), cachedNode('b')),
      leases: holding(),
      leaseNamespace: 'leases',
      topology: 'topology',
      nowMs: () => 0,
    },
    {
      onNode: (name) => heard.push(name),
      onTaints: () => undefined,
      onReadiness: (zones) => heard.push(...[...zones.values()].map(({ nodes }) => String(nodes))),
    },
  );
  expect(heard).toEqual(['a', '1', 'b', '2']);
});
