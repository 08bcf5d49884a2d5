/** Newest revision of each object of a resource, by key and in order. */

import type { CacheChange, CachedObject } from '../contract.ts';
import { RestampedObject, type StoredObject } from './cached-object.ts';
import { createOrdered, type Ordered } from './ordered.ts';
import type { Slot } from './snapshot.ts';

function changeOf(
  previous: CachedObject | undefined,
  current: CachedObject | undefined,
  revision: number,
): CacheChange | undefined {
  if (current !== undefined) {
    return previous === undefined ? { type: 'ADDED', current } : { type: 'MODIFIED', current, previous };
  }
  if (previous === undefined) return undefined;
  return { type: 'DELETED', current: new RestampedObject(previous, revision), previous };
}

export interface Objects {
  readonly slots: Ordered<Slot>;
  readonly byKey: ReadonlyMap<string, Slot>;
  /** Sets or removes; returns the change, if it is one. */
  set(key: string, current: StoredObject | undefined, revision: number): CacheChange | undefined;
}

export function createObjects(): Objects {
  const slots = createOrdered<Slot>();
  const byKey = new Map<string, Slot>();
  return {
    slots,
    byKey,
    set(key, current, revision) {
      const slot = byKey.get(key);
      const change = changeOf(slot?.current, current, revision);
      if (current === undefined) {
        if (byKey.delete(key)) slots.remove(key);
      } else if (slot === undefined) {
        const added = { key, current };
        byKey.set(key, added);
        slots.add(added);
      } else slot.current = current;
      return change;
    },
  };
}
