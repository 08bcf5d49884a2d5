/** Pending quota charges: charged by admission, but not countable yet because the object is still being
 *  stored. The quota controller adds them: otherwise a count in between would release what has already been
 *  granted. */
import type { Clock } from '#api/kit/clock.ts';
import type { CacheChange, ResourceCache } from '../cache/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { Amounts } from './amounts.ts';

/** Longer than any request takes from admission to the store; an object not stored by then never will be. */
export const PENDING_MS = 30_000;

export interface PendingCharge {
  readonly resource: Pick<Resource, 'info' | 'storage'>;
  /** The cache's key of the object. */
  readonly key: string;
  /** The object's revision before the change; `0` for a new one. */
  readonly afterRevision: number;
  readonly delta: Amounts;
}

/** One charge in progress. */
export interface PendingEntry {
  /** The quota is about to be charged by an update of this revision; absent: it is not charged after all. */
  readonly promise: (quota: string, ofRevision: number | undefined) => void;
  /** The charge has failed. */
  readonly withdraw: () => void;
}

export interface PendingCharges {
  add(namespace: string, charge: PendingCharge): PendingEntry;
  /** Returns the charges to a quota of this revision whose objects are not stored yet. */
  of(namespace: string, quota: string, revision: number): readonly PendingCharge[];
}

export interface PendingDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly cache: { resource(storage: Resource['storage']): Pick<ResourceCache, 'follow'> };
}

interface Entry {
  readonly charge: PendingCharge;
  readonly namespace: string;
  readonly sinceMs: number;
  /** The revision before the charge, by quota name. */
  readonly promised: Map<string, number>;
}

/** Entries by the key of their object. */
type ByKey = Map<string, Set<Entry>>;

export function createPendingCharges({ clock, cache }: PendingDeps): PendingCharges {
  /** In order of arrival. */
  const byNamespace = new Map<string, Set<Entry>>();
  // Caches of custom resources come and go with their definitions.
  const byCache = new WeakMap<object, ByKey>();

  function remove(entry: Entry, byKey: ByKey): void {
    const { namespace, charge } = entry;
    const entries = byNamespace.get(namespace);
    entries?.delete(entry);
    if (entries?.size === 0) byNamespace.delete(namespace);
    const same = byKey.get(charge.key);
    same?.delete(entry);
    if (same?.size === 0) byKey.delete(charge.key);
  }

  function keysOf(charge: PendingCharge): ByKey {
    const objects = cache.resource(charge.resource.storage);
    const known = byCache.get(objects);
    if (known !== undefined) return known;
    const byKey: ByKey = new Map();
    byCache.set(objects, byKey);
    objects.follow(({ current }: CacheChange) => {
      for (const entry of byKey.get(current.key) ?? [])
        if (current.revision > entry.charge.afterRevision) remove(entry, byKey);
    });
    return byKey;
  }

  function dropOld(entries: ReadonlySet<Entry>): void {
    for (const entry of entries) {
      if (clock.now() - entry.sinceMs <= PENDING_MS) return;
      remove(entry, keysOf(entry.charge));
    }
  }

  return {
    add(namespace, charge) {
      const entry: Entry = { charge, namespace, sinceMs: clock.now(), promised: new Map() };
      const byKey = keysOf(charge);
      dropOld(byNamespace.get(namespace) ?? new Set());
      const entries = byNamespace.get(namespace) ?? new Set<Entry>();
      byNamespace.set(namespace, entries.add(entry));
      byKey.set(charge.key, (byKey.get(charge.key) ?? new Set<Entry>()).add(entry));
      return {
        promise(quota, ofRevision) {
          if (ofRevision === undefined) entry.promised.delete(quota);
          else entry.promised.set(quota, ofRevision);
        },
        withdraw: () => remove(entry, byKey),
      };
    },
    of(namespace, quota, revision) {
      dropOld(byNamespace.get(namespace) ?? new Set());
      return [...(byNamespace.get(namespace) ?? [])]
        .filter(({ promised }) => (promised.get(quota) ?? Infinity) < revision)
        .map(({ charge }) => charge);
    },
  };
}
