/** The configuration objects that manifests brought, and what changed in them. Keeps nothing on disk. */

import { isDeepStrictEqual } from 'node:util';
import { createListeners } from '#api/kit/listeners.ts';
import type { CSIDriver } from '#api/schema/gen/storage-v1.ts';
import { isClusterKind } from '#api/schema/manifest.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { ConfigObject, SourceObject } from '../sources/types.ts';
import { formatObjectKey, type ObjectKey, type ObjectKind } from './references.ts';

/** Objects that are new, different or gone. */
export type ChangedKeys = readonly ObjectKey[];

export interface ObjectStore extends ObjectReader {
  readonly getCSIDriver: (name: string) => Promise<CSIDriver | undefined>;
  /** Takes the whole new content, tells the listeners what changed, and returns it. */
  replace(objects: readonly SourceObject[]): ChangedKeys;
  /** Every object, in the order of the sources. */
  list(): readonly ConfigObject[];
  /** Calls the listener, synchronously, after each replace that changed something.
   *  @returns a function that ends the subscription */
  onChange(listener: (changed: ChangedKeys) => void): () => void;
}

interface Entry {
  readonly key: ObjectKey;
  readonly object: ConfigObject;
}

function keyOf(object: ConfigObject): ObjectKey {
  const { namespace = '', name = '' } = object.metadata ?? {};
  return { kind: object.kind, namespace: isClusterKind(object.kind) ? '' : namespace, name };
}

function indexObjects(objects: readonly SourceObject[]): Map<string, Entry> {
  const index = new Map<string, Entry>();
  for (const { object } of objects) {
    const key = keyOf(object);
    const text = formatObjectKey(key);
    // Sources are merged first-wins; keep that even if handed two.
    if (!index.has(text)) index.set(text, { key, object });
  }
  return index;
}

function changedKeys(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): ChangedKeys {
  const gone = [...before].filter(([text]) => !after.has(text));
  const different = [...after].filter(([text, entry]) => {
    const old = before.get(text)?.object;
    return old !== entry.object && !isDeepStrictEqual(old, entry.object);
  });
  return [...different, ...gone].map(([, entry]) => entry.key);
}

export function createObjectStore(): ObjectStore {
  const listeners = createListeners<[changed: ChangedKeys]>('objects of files');
  let index = new Map<string, Entry>();

  function get(kind: ObjectKind, namespace: string, name: string): ConfigObject | undefined {
    return index.get(formatObjectKey({ kind, namespace, name }))?.object;
  }

  return {
    replace(objects) {
      const next = indexObjects(objects);
      const changed = changedKeys(index, next);
      index = next;
      if (changed.length > 0) listeners.notify(changed);
      return changed;
    },
    list: () => [...index.values()].map((entry) => entry.object),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async getConfigMap(namespace, name) {
      const object = get('ConfigMap', namespace, name);
      return object?.kind === 'ConfigMap' ? object : undefined;
    },
    async getSecret(namespace, name) {
      const object = get('Secret', namespace, name);
      return object?.kind === 'Secret' ? object : undefined;
    },
    async getPersistentVolumeClaim(namespace, name) {
      const object = get('PersistentVolumeClaim', namespace, name);
      return object?.kind === 'PersistentVolumeClaim' ? object : undefined;
    },
    async getCSIDriver(name) {
      const object = get('CSIDriver', '', name);
      return object?.kind === 'CSIDriver' ? object : undefined;
    },
    async getPersistentVolume(name) {
      const object = get('PersistentVolume', '', name);
      return object?.kind === 'PersistentVolume' ? object : undefined;
    },
    async getEndpoints(namespace, name) {
      const object = get('Endpoints', namespace, name);
      return object?.kind === 'Endpoints' ? object : undefined;
    },
  };
}
