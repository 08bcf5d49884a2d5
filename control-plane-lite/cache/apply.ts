/** Applies the store's states and events to the caches of the resources, in order, and resolves those that wait for a
 *  revision to be applied. */
import type { Timer } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createTransientSet } from '#api/kit/transient.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { StoredItem, StoreEvent } from '../store/contract.ts';
import { CacheError } from './contract.ts';
import { type Difference, eventsOf } from './follow/resync.ts';
import type { Loading } from './follow/target.ts';
import type { Router } from './router.ts';
import type { Sealed } from './state/sealed.ts';
import { uidOf, withRevision } from './state/stored-form.ts';

export interface Applier {
  /** Everything up to this revision has been applied; 0 before the first state. */
  readonly revision: number;
  readonly loaded: boolean;
  apply(events: readonly StoreEvent[]): void;
  /** No further events exist up to the revision. */
  progress(revision: number): void;
  /** Applies a value that was sealed; `undefined`: the key was deleted meanwhile. */
  unseal(key: string, item: StoredItem | undefined): void;
  /** Replaces the whole state. Differences from the known state become events, if events can explain them. */
  begin(): Loading;
}

export interface ApplierDeps {
  readonly router: Router;
  readonly log: Logger;
  /** Returns the object that stored bytes were encoded from, if known. */
  readonly made: (key: string, stored: Buffer) => ApiObject | undefined;
  readonly sealed: Sealed;
  /** Called after the revision has risen. */
  readonly onRevision: (revision: number) => void;
}

/** Returns the uid in bytes of an object similar to one whose uid is known; bytes without one differ from
 *  all. */
function uidIfAny(bytes: Buffer, like: string): string {
  if (like === '') return '';
  try {
    return uidOf(bytes);
  } catch {
    return '';
  }
}

/** The known value of a key, whether or not a resource owns it. */
function known(router: Router, key: string): { readonly revision: number; readonly uid: string } | undefined {
  const resource = router.find(key);
  const object = resource?.peek(key.slice(resource.storage.prefix.length));
  if (object !== undefined) return { revision: object.revision, uid: uidOf(object.json) };
  const item = router.unowned.get(key);
  // Unowned keys have no watchers, so it doesn't matter whether this is another object.
  return item === undefined ? undefined : { revision: item.revision, uid: '' };
}

function* knownKeys(router: Router): Iterable<string> {
  for (const [prefix, resource] of router.resources) for (const { key } of resource.all()) yield prefix + key;
  yield* router.unowned.keys();
}

/** Applies one write without history and watchers. */
function replaceItem(deps: ApplierDeps, key: string, item: StoredItem | undefined, revision: number): void {
  const { router, log } = deps;
  const resource = router.find(key);
  if (resource === undefined) {
    const value = item === undefined ? undefined : { revision: item.revision, bytes: item.value };
    router.unowned.replace(key, value);
    return;
  }
  const relative = key.slice(resource.storage.prefix.length);
  try {
    const json = item === undefined ? undefined : withRevision(item.value, item.revision);
    resource.replace(relative, revision, json);
  } catch (error) {
    log.error({ err: error, key }, 'Failed to decode stored object');
  }
}

function applyEvent({ router, made, log }: ApplierDeps, event: StoreEvent): void {
  const { key, revision } = event;
  const resource = router.find(key);
  if (resource === undefined) {
    router.unowned.change({ key, revision, bytes: event.type === 'delete' ? undefined : event.value });
    return;
  }
  const relative = key.slice(resource.storage.prefix.length);
  if (event.type === 'delete') {
    resource.remove(relative, revision);
    return;
  }
  try {
    resource.put(relative, revision, withRevision(event.value, revision), made(key, event.value));
  } catch (error) {
    // Better not to serve the object than to serve an outdated state.
    log.error({ err: error, key }, 'Failed to decode stored object');
    resource.remove(relative, revision);
  }
}

/** Initial load: nothing is served yet, so items are applied as they arrive. */
function loadFirst(deps: ApplierDeps, done: (to: number) => void): Loading {
  const seen = new Set<string>();
  return {
    add(items) {
      for (const item of items) {
        seen.add(item.key);
        replaceItem(deps, item.key, item, item.revision);
      }
    },
    finish(to) {
      const left = [...knownKeys(deps.router)].filter((key) => !seen.has(key));
      for (const key of left) replaceItem(deps, key, undefined, to);
      done(to);
    },
  };
}

/** Computes the differences from the known state. */
function loadAgain(router: Router, from: () => number, done: (difference: Difference) => void): Loading {
  const seen = new Set<string>();
  const recreated = new Set<string>();
  const changed: StoredItem[] = [];

  function compare(item: StoredItem): void {
    seen.add(item.key);
    const before = known(router, item.key);
    if (before?.revision === item.revision) return;
    changed.push(item);
    if (before !== undefined && before.uid !== uidIfAny(item.value, before.uid)) recreated.add(item.key);
  }

  return {
    add: (items) => items.forEach(compare),
    finish(to) {
      const gone = [...knownKeys(router)].filter((key) => !seen.has(key));
      done({ from: from(), to, changed, recreated, gone });
    },
  };
}

export function createApplier(deps: ApplierDeps): Applier {
  const { router, log, sealed, onRevision } = deps;
  let revision = 0;
  let loaded = false;

  function progress(next: number): void {
    if (next <= revision) return;
    revision = next;
    onRevision(next);
  }

  function apply(events: readonly StoreEvent[]): void {
    for (const event of events) {
      // A resumed watch may repeat events.
      if (event.revision <= revision) continue;
      revision = event.revision;
      applyEvent(deps, event);
      if (sealed.all.size > 0) open(event.key);
    }
    onRevision(revision);
  }

  /** A resource without sealed values has its first complete state: watches can't start from an earlier one. */
  function open(key: string): void {
    if (!sealed.delete(key)) return;
    const resource = router.find(key);
    if (resource !== undefined && sealed.below(resource.storage.prefix) === 0)
      resource.trim((history) => history.reset(revision));
  }

  function unseal(key: string, item: StoredItem | undefined): void {
    // A later value arrives as an event.
    if (item !== undefined && item.revision > revision) return;
    if (item !== undefined && known(router, key) === undefined) replaceItem(deps, key, item, item.revision);
    open(key);
  }

  function forgetPast(): void {
    for (const resource of router.resources.values()) resource.trim((history) => history.reset(revision));
    router.unowned.forgetPast(revision);
  }

  function replaceAll({ changed, gone, to }: Difference): void {
    log.warn({ from: revision, to }, 'Store replaced; watches terminated');
    for (const resource of router.resources.values()) resource.endWatchers('expired');
    for (const item of changed) replaceItem(deps, item.key, item, item.revision);
    for (const key of gone) replaceItem(deps, key, undefined, to);
    revision = to;
    onRevision(to);
  }

  function resync(difference: Difference): void {
    const events = eventsOf(difference);
    if (events === undefined) replaceAll(difference);
    else {
      apply(events);
      progress(difference.to);
    }
    forgetPast();
  }

  function start(to: number): void {
    loaded = true;
    progress(to);
    forgetPast();
  }

  return {
    get revision() {
      return revision;
    },
    get loaded() {
      return loaded;
    },
    apply,
    progress,
    unseal,
    begin: () => (loaded ? loadAgain(router, () => revision, resync) : loadFirst(deps, start)),
  };
}

/** Waiters for revisions of the cache. */
export interface Waiters {
  /** Resolves once `reached` was called with the revision. @throws CacheError `future` after the timeout */
  wait(revision: number, timeoutMs: number): Promise<void>;
  /** Everything up to the revision has been applied. */
  reached(revision: number): void;
}

export interface WaitersDeps {
  readonly setTimer: (fire: () => void, delayMs: number) => Timer;
  readonly newest: () => number;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly timer: Timer;
}

export function createWaiters(deps: WaitersDeps): Waiters {
  const waiting = createTransientSet<Waiter>();
  return {
    wait(revision, timeoutMs) {
      if (revision <= deps.newest()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const timer = deps.setTimer(() => {
          waiting.delete(waiter);
          const text = `Too large resource version: ${revision}, current: ${deps.newest()}`;
          reject(new CacheError('future', text, deps.newest()));
        }, timeoutMs);
        const waiter: Waiter = { revision, resolve, timer };
        waiting.add(waiter);
      });
    },
    reached(revision) {
      for (const waiter of waiting.values()) {
        if (waiter.revision > revision) continue;
        waiting.delete(waiter);
        waiter.timer.cancel();
        waiter.resolve();
      }
    },
  };
}
