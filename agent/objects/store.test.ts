import { describe, expect, test } from 'vitest';
import type { ConfigObject, SourceObject } from '../sources/types.ts';
import { formatObjectKey } from './references.ts';
import { type ChangedKeys, createObjectStore } from './store.ts';

const origin = { source: 'file', location: '/m/a.yaml', document: '1' } as const;

function configMap(name: string, data: Record<string, string>, namespace = 'default'): SourceObject {
  return { origin, object: { kind: 'ConfigMap', metadata: { name, namespace }, data } };
}

function other(object: ConfigObject): SourceObject {
  return { origin, object };
}

const keys = (changed: ChangedKeys): readonly string[] => changed.map(formatObjectKey);

describe('createObjectStore', () => {
  test('reads each kind by namespace and name', async () => {
    const store = createObjectStore();
    store.replace([
      configMap('a', { k: 'v' }),
      other({ kind: 'Secret', metadata: { name: 'a', namespace: 'default' }, data: { k: 'dg==' } }),
      other({ kind: 'PersistentVolume', metadata: { name: 'disk' }, spec: {} }),
      other({ kind: 'PersistentVolumeClaim', metadata: { name: 'c', namespace: 'x' }, spec: {} }),
      other({ kind: 'Endpoints', metadata: { name: 'e', namespace: 'x' }, subsets: [] }),
    ]);
    expect((await store.getConfigMap('default', 'a'))?.data).toEqual({ k: 'v' });
    expect((await store.getSecret('default', 'a'))?.data).toEqual({ k: 'dg==' });
    expect((await store.getPersistentVolume('disk'))?.metadata?.name).toBe('disk');
    expect((await store.getPersistentVolumeClaim('x', 'c'))?.metadata?.name).toBe('c');
    expect(await store.getPersistentVolumeClaim('default', 'c')).toBeUndefined();
    expect(await store.getConfigMap('other', 'a')).toBeUndefined();
    expect((await store.getEndpoints('x', 'e'))?.subsets).toEqual([]);
    expect(await store.getEndpoints('default', 'e')).toBeUndefined();
    expect(store.list()).toHaveLength(5);
  });

  test('reports added, changed and deleted objects, and nothing else', () => {
    const store = createObjectStore();
    expect(keys(store.replace([configMap('a', {}), configMap('b', {})]))).toEqual([
      'ConfigMap default/a',
      'ConfigMap default/b',
    ]);
    const next = [configMap('a', {}), configMap('b', { k: '1' }), configMap('c', {})];
    expect(keys(store.replace(next))).toEqual(['ConfigMap default/b', 'ConfigMap default/c']);
    expect(keys(store.replace([configMap('a', {})]))).toEqual(['ConfigMap default/b', 'ConfigMap default/c']);
  });

  test('calls listeners only on a change, all of them even when one throws', () => {
    const store = createObjectStore();
    const heard: (readonly string[])[] = [];
    store.onChange(() => {
      throw new Error('listener');
    });
    const end = store.onChange((changed) => heard.push(keys(changed)));
    store.replace([configMap('a', {})]);
    store.replace([configMap('a', {})]);
    end();
    store.replace([]);
    expect(heard).toEqual([['ConfigMap default/a']]);
  });

  test('retains the first of two with the same name', async () => {
    const store = createObjectStore();
    store.replace([configMap('a', { from: 'first' }), configMap('a', { from: 'second' })]);
    expect((await store.getConfigMap('default', 'a'))?.data).toEqual({ from: 'first' });
  });
});
