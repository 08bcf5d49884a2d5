import { describe, expect, test } from 'vitest';
import type { CacheChange, CachedObject } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { childFacts, createChildren } from './children.ts';
import { followChildren } from './follow-children.ts';
import { cachedOf } from './kit.fixture.ts';
import { createOwners } from './owners.ts';

type Listener = (change: CacheChange) => void;

/** A cache to which the test reports changes. */
function createSource(): {
  follow: (listener: Listener) => { close(): void };
  set(object: ApiObject): void;
  remove(key: string): void;
} {
  const listeners = new Set<Listener>();
  const objects = new Map<string, CachedObject>();
  const emit = (change: CacheChange): void => listeners.forEach((listener) => listener(change));
  return {
    follow(listener) {
      for (const current of objects.values()) listener({ type: 'ADDED', current });
      listeners.add(listener);
      return { close: () => listeners.delete(listener) };
    },
    set(object) {
      const current = cachedOf(object);
      const type = objects.has(current.key) ? 'MODIFIED' : 'ADDED';
      objects.set(current.key, current);
      emit({ type, current });
    },
    remove(key) {
      const current = objects.get(key);
      objects.delete(key);
      if (current !== undefined) emit({ type: 'DELETED', current });
    },
  };
}

const child = (
  name: string,
  owner?: string,
  labels: Readonly<Record<string, string>> = { app: 'a' },
): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'ns',
    uid: `uid-${name}`,
    labels,
    ...(owner === undefined
      ? {}
      : {
          ownerReferences: [
            { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: `uid-${owner}`, controller: true },
          ],
        }),
  },
});
const set = (name: string, app: string): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { selector: { matchLabels: { app } } },
});

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only its names are read
const RESOURCE = { info: { group: 'apps', version: 'v1', kind: 'ReplicaSet' } } as unknown as Resource;

interface World {
  readonly pods: ReturnType<typeof createSource>;
  readonly sets: ReturnType<typeof createSource>;
  readonly children: ReturnType<typeof createChildren>;
  /** Keys queued since the last call. */
  readonly due: () => readonly string[];
}

function createWorld(): World {
  const [pods, sets] = [createSource(), createSource()];
  const keys = new Set<string>();
  const children = createChildren(pods, childFacts);
  const owners = createOwners(sets, RESOURCE, {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the sets above
    selectorOf: (object) => (object['spec'] as { selector: object }).selector,
    onChange: (key) => void keys.add(key),
  });
  followChildren(children, owners, (key) => void keys.add(key));
  return {
    pods,
    sets,
    children,
    due() {
      const found = [...keys].toSorted();
      keys.clear();
      return found;
    },
  };
}

const names = (found: readonly { name: string }[]): readonly string[] => found.map(({ name }) => name);

describe('children', () => {
  test('are found by the uid of their controller, and orphans by their namespace', () => {
    const { pods, children } = createWorld();
    pods.set(child('a', 'one'));
    pods.set(child('b', 'one'));
    pods.set(child('c'));
    expect(names(children.ofOwner('uid-one'))).toEqual(['a', 'b']);
    expect(names(children.orphansIn('ns'))).toEqual(['c']);
    pods.set(child('b', 'two'));
    pods.set(child('c', 'two'));
    pods.remove('ns/a');
    expect(names(children.ofOwner('uid-one'))).toEqual([]);
    expect(names(children.ofOwner('uid-two'))).toEqual(['b', 'c']);
    expect(names(children.orphansIn('ns'))).toEqual([]);
  });

  test('make their owner due, and the one before', () => {
    const { pods, sets, due } = createWorld();
    sets.set(set('one', 'a'));
    sets.set(set('two', 'b'));
    expect(due()).toEqual(['ns/one', 'ns/two']);
    pods.set(child('a', 'one'));
    expect(due()).toEqual(['ns/one']);
    pods.set(child('a', 'two'));
    expect(due()).toEqual(['ns/one', 'ns/two']);
    pods.remove('ns/a');
    expect(due()).toEqual(['ns/two']);
  });

  test('without a controller make those due that select them, when that may matter', () => {
    const { pods, sets, due } = createWorld();
    sets.set(set('one', 'a'));
    sets.set(set('two', 'b'));
    due();
    pods.set(child('a'));
    expect(due()).toEqual(['ns/one']);
    pods.set(child('a'));
    expect(due()).toEqual([]);
    pods.set(child('a', undefined, { app: 'b' }));
    expect(due()).toEqual(['ns/two']);
    pods.remove('ns/a');
    expect(due()).toEqual([]);
  });

  test('of a kind in another group have no effect', () => {
    const { pods, sets, due } = createWorld();
    sets.set(set('one', 'a'));
    due();
    const unrelated = child('a', 'one');
    const [reference] = unrelated.metadata.ownerReferences ?? [];
    if (reference === undefined) throw new Error('it has one');
    unrelated.metadata.ownerReferences = [{ ...reference, apiVersion: 'example.org/v1' }];
    pods.set(unrelated);
    expect(due()).toEqual([]);
  });
});
