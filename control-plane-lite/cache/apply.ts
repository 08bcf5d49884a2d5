/** Puts the store's states and events into the caches of the resources, in order. */
import type { Logger } from '#api/kit/logger.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { StoredItem, StoreEvent } from '../store/contract.ts';
import type { Loading } from './feed.ts';
import { type Difference, eventsOf } from './resync.ts';
import { uidOf, withRevision } from './stored-form.ts';
import type { Tree } from './tree.ts';

export interface Applier {
  /** Everything up to this revision was applied; 0 before anything was. */
  readonly revision: number;
  readonly loaded: boolean;
  apply(events: readonly StoreEvent[]): void;
  /** Nothing else happened up to the revision. */
  progress(revision: number): void;
  /** Takes in a whole state. What differs from the known one is told as events, if events explain it. */
  begin(): Loading;
}

export interface ApplierDeps {
  readonly tree: Tree;
  readonly log: Logger;
  /** The object that stored bytes were made of, if known. */
  readonly made: (key: string, stored: Buffer) => ApiObject | undefined;
  /** Called when the revision has risen. */
  readonly onRevision: (revision: number) => void;
}

/** The uid in bytes that hold an object like one whose uid is known; what holds none differs from every one. */
function uidIfAny(bytes: Buffer, like: string): string {
  if (like === '') return '';
  try {
    return uidOf(bytes);
  } catch {
    return '';
  }
}

/** What is known of a key, claimed by a resource or not. */
function known(tree: Tree, key: string): { readonly revision: number; readonly uid: string } | undefined {
  const resource = tree.find(key);
  const object = resource?.get(key.slice(resource.storage.prefix.length));
  if (object !== undefined) return { revision: object.revision, uid: uidOf(object.json) };
  const item = tree.unclaimed.get(key);
  // Nobody watches what is unclaimed, so whether it is another object doesn't matter.
  return item === undefined ? undefined : { revision: item.revision, uid: '' };
}

function* knownKeys(tree: Tree): Iterable<string> {
  for (const [prefix, resource] of tree.resources) for (const { key } of resource.all()) yield prefix + key;
  yield* tree.unclaimed.keys();
}

/** One write, without history and watchers. */
function replaceItem(deps: ApplierDeps, key: string, item: StoredItem | undefined, revision: number): void {
  const { tree, log } = deps;
  const resource = tree.find(key);
  if (resource === undefined) {
    const value = item === undefined ? undefined : { revision: item.revision, bytes: item.value };
    tree.unclaimed.replace(key, value);
    return;
  }
  const relative = key.slice(resource.storage.prefix.length);
  try {
    const json = item === undefined ? undefined : withRevision(item.value, item.revision);
    resource.replace(relative, revision, json);
  } catch (error) {
    log.error({ err: error, key }, 'Stored bytes could not be read');
  }
}

function applyEvent({ tree, made, log }: ApplierDeps, event: StoreEvent): void {
  const { key, revision } = event;
  const resource = tree.find(key);
  if (resource === undefined) {
    tree.unclaimed.change({ key, revision, bytes: event.type === 'delete' ? undefined : event.value });
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
    // Better not to show the object than to show what it no longer is.
    log.error({ err: error, key }, 'Stored bytes could not be read');
    resource.remove(relative, revision);
  }
}

/** Nothing is served yet: items go in as they come. */
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
      const left = [...knownKeys(deps.tree)].filter((key) => !seen.has(key));
      for (const key of left) replaceItem(deps, key, undefined, to);
      done(to);
    },
  };
}

/** Finds out what is different. */
function loadAgain(tree: Tree, from: () => number, done: (difference: Difference) => void): Loading {
  const seen = new Set<string>();
  const recreated = new Set<string>();
  const changed: StoredItem[] = [];

  function compare(item: StoredItem): void {
    seen.add(item.key);
    const before = known(tree, item.key);
    if (before?.revision === item.revision) return;
    changed.push(item);
    if (before !== undefined && before.uid !== uidIfAny(item.value, before.uid)) recreated.add(item.key);
  }

  return {
    add: (items) => items.forEach(compare),
    finish(to) {
      const gone = [...knownKeys(tree)].filter((key) => !seen.has(key));
      done({ from: from(), to, changed, recreated, gone });
    },
  };
}

export function createApplier(deps: ApplierDeps): Applier {
  const { tree, log, onRevision } = deps;
  let revision = 0;
  let loaded = false;

  function progress(next: number): void {
    if (next <= revision) return;
    revision = next;
    onRevision(next);
  }

  function apply(events: readonly StoreEvent[]): void {
    for (const event of events) {
      // A watch that was taken up again may repeat what was given.
      if (event.revision <= revision) continue;
      revision = event.revision;
      applyEvent(deps, event);
    }
    onRevision(revision);
  }

  function forgetPast(): void {
    for (const resource of tree.resources.values()) resource.trim((history) => history.reset(revision));
    tree.unclaimed.forgetPast(revision);
  }

  function replaceAll({ changed, gone, to }: Difference): void {
    log.warn({ from: revision, to }, 'Store is not the one it was, watches ended');
    for (const resource of tree.resources.values()) resource.endWatchers('expired');
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
    begin: () => (loaded ? loadAgain(tree, () => revision, resync) : loadFirst(deps, start)),
  };
}
