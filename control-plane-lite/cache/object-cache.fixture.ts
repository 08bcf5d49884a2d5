/** In-memory objects of one resource, for tests of cache users: followers are notified synchronously. */
import type { CacheChange, CachedObject, WatchHandle } from '#plane/cache/contract.ts';
import type { ApiObject } from '#plane/resources/contract.ts';

export interface ObjectCache {
  get(key: string): CachedObject | undefined;
  list(): { readonly revision: number; readonly items: readonly CachedObject[] };
  follow(listener: (change: CacheChange) => void): WatchHandle;
  put(object: ApiObject): void;
  remove(key: string): void;
}

/** `fields`: selectable fields besides the name and the namespace. */
export function createObjectCache(
  fields: Readonly<Record<string, (object: ApiObject) => string>> = {},
): ObjectCache {
  const objects = new Map<string, CachedObject>();
  const listeners = new Set<(change: CacheChange) => void>();
  let revision = 0;
  function entryOf(object: ApiObject): CachedObject {
    const { name = '', namespace = '', labels = {} } = object.metadata;
    revision += 1;
    const origin = { madeHere: false };
    return {
      ...origin,
      key: namespace === '' ? name : `${namespace}/${name}`,
      namespace,
      name,
      revision,
      json: Buffer.from(JSON.stringify(object)),
      labels,
      fields: Object.fromEntries(Object.entries(fields).map(([field, read]) => [field, read(object)])),
      object: () => object,
      form: (_, make) => make(),
    };
  }
  const notify = (change: CacheChange): void => {
    for (const listener of listeners) listener(change);
  };
  return {
    get: (key) => objects.get(key),
    list: () => ({ revision, items: [...objects.values()] }),
    follow(listener) {
      for (const current of objects.values()) listener({ type: 'ADDED', current });
      listeners.add(listener);
      return { close: () => listeners.delete(listener) };
    },
    put(object) {
      const current = entryOf(object);
      const previous = objects.get(current.key);
      objects.set(current.key, current);
      notify(previous === undefined ? { type: 'ADDED', current } : { type: 'MODIFIED', current, previous });
    },
    remove(key) {
      const current = objects.get(key);
      if (!objects.delete(key) || current === undefined) return;
      notify({ type: 'DELETED', current, previous: current });
    },
  };
}
