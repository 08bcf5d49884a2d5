import { describe, expect, test } from 'vitest';
import type { CacheChange, CachedObject } from '../../cache/contract.ts';
import type { Resource } from '../../resources/contract.ts';
import { createOwnerGraph } from './graph.ts';

// The graph stores the resource and reads only its prefix.
const PODS = { storage: { prefix: 'pods' } } as unknown as Resource;

interface Facts {
  readonly owners?: readonly string[];
  readonly finalizers?: readonly string[];
  readonly deleting?: boolean;
}

function change(type: CacheChange['type'], uid: string, facts: Facts = {}): CacheChange {
  const { owners = [], finalizers = [], deleting = false } = facts;
  const metadata = {
    uid,
    ownerReferences: owners.map((owner) => ({ apiVersion: 'v1', kind: 'Pod', name: owner, uid: owner })),
    finalizers,
    ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  };
  const current: Partial<CachedObject> = { namespace: 'a', name: uid, object: () => ({ metadata }) as never };
  return { type, current: current as CachedObject };
}

describe('objects to process again', () => {
  test('a new object', () => {
    const graph = createOwnerGraph();
    expect(graph.apply(PODS, change('ADDED', 'child', { owners: ['gone'] }))).toEqual(['child']);
  });

  test('none for an object without owners', () => {
    const graph = createOwnerGraph();
    expect(graph.apply(PODS, change('ADDED', 'free'))).toEqual([]);
  });

  test('none if no relevant field has changed', () => {
    const graph = createOwnerGraph();
    graph.apply(PODS, change('ADDED', 'owner'));
    graph.apply(PODS, change('ADDED', 'child', { owners: ['owner'] }));
    expect(graph.apply(PODS, change('MODIFIED', 'child', { owners: ['owner'] }))).toEqual([]);
    expect(graph.apply(PODS, change('MODIFIED', 'owner'))).toEqual([]);
  });

  test('an object whose owner is missing, after any change', () => {
    const graph = createOwnerGraph();
    graph.apply(PODS, change('ADDED', 'child', { owners: ['gone'] }));
    expect(graph.apply(PODS, change('MODIFIED', 'child', { owners: ['gone'] }))).toEqual(['child']);
  });

  test('the owner that an object no longer names', () => {
    const graph = createOwnerGraph();
    graph.apply(PODS, change('ADDED', 'owner'));
    graph.apply(PODS, change('ADDED', 'child', { owners: ['owner'] }));
    expect(graph.apply(PODS, change('MODIFIED', 'child'))).toEqual(['owner']);
  });

  test('owners and dependents of a deleted object', () => {
    const graph = createOwnerGraph();
    graph.apply(PODS, change('ADDED', 'owner'));
    graph.apply(PODS, change('ADDED', 'child', { owners: ['owner'] }));
    const leaving = { finalizers: ['wait'], deleting: true };
    expect(graph.apply(PODS, change('MODIFIED', 'owner', leaving))).toEqual(['owner', 'child']);
    expect(graph.apply(PODS, change('MODIFIED', 'owner', leaving))).toEqual(['owner', 'child']);
    expect(graph.apply(PODS, change('DELETED', 'owner', leaving))).toEqual(['child', 'child']);
  });
});
