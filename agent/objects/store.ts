/** Configuration objects from manifests, with change notifications. In memory only. */

import { isDeepStrictEqual } from 'node:util';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import { createListeners } from '#api/kit/listeners.ts';
import { isClusterKind } from '#api/schema/manifest.ts';
import type { ObjectReader } from '#api/schema/object-reader.ts';
import type { ConfigObject, SourceObject } from '../sources/types.ts';
import { formatObjectKey, type ObjectKey, type ObjectKind } from './references.ts';

/** New, changed and deleted objects. */
export type ChangedKeys = readonly ObjectKey[];

export interface ObjectStore extends ObjectReader {
  readonly getCSIDriver: (name: string) => Promise<CSIDriver | undefined>;
  /** Replaces the content, notifies the listeners of the changes, and returns them. */
  replace(objects: readonly SourceObject[]): ChangedKeys;
  /** Returns every object, in the order of the sources. */
  list(): readonly ConfigObject[];
  /** Calls the listener, synchronously, after each replacement with changes.
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
    // Sources are merged with the first one taking precedence; preserve that for duplicates.
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
