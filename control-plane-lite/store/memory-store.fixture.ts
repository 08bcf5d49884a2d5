/** In-memory store for tests: fulfils every guarantee of the contract but that of stable storage, and can be
 *  made to fail. All its data is in one log, so it is small enough to verify by reading. */
import {
  type Expected,
  type RangeOptions,
  type RangeResult,
  type Store,
  type StoredItem,
  StoreError,
  type StoreEvent,
  type StoreWatch,
  type WatchSink,
  type WriteResult,
} from '#plane/store/contract.ts';

export interface MemoryStore extends Store {
  /** Ends every watch that is open with this error. */
  endWatches(error: StoreError): void;
  /** Holds events back from watches, as a slow connection would, until called with false. */
  pauseWatches(paused: boolean): void;
  /** Delivers these events to every watch, right or wrong. */
  give(events: readonly StoreEvent[]): void;
  /** Every call fails with this error, until called with `undefined`. */
  failWith(error: StoreError | undefined): void;
  /** Number of open watches. */
  readonly watchCount: number;
}

interface Version {
  readonly revision: number;
  /** Absent: deleted. */
  readonly value: Buffer | undefined;
}

interface OpenWatch {
  readonly prefix: string;
  readonly sink: WatchSink;
  /** Events up to here were delivered. */
  position: number;
}

/** Revision of the empty store. */
const FIRST_REVISION = 1;

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** Returns the newest version at or before a revision. */
function versionAt(versions: readonly Version[], revision: number): Version | undefined {
  return versions.findLast((version) => version.revision <= revision);
}

function itemAt(key: string, versions: readonly Version[], revision: number): StoredItem | undefined {
  const version = versionAt(versions, revision);
  if (version?.value === undefined) return undefined;
  return { key, value: version.value, revision: version.revision };
}

function meets(current: StoredItem | undefined, expected: Expected): boolean {
  return expected === 'absent' ? current === undefined : current?.revision === expected;
}

interface Data {
  readonly keys: Map<string, Version[]>;
  readonly log: StoreEvent[];
  revision: number;
  compacted: number;
}

function rangeOf(data: Data, prefix: string, options: RangeOptions): RangeResult {
  const { revision = data.revision, after, limit = Number.POSITIVE_INFINITY } = options;
  if (revision > data.revision) {
    throw new StoreError('future', `revision ${revision} has not been reached yet`, {
      revision: data.revision,
    });
  }
  if (revision < data.compacted) {
    throw new StoreError('compacted', `revision ${revision} was compacted`, { revision: data.compacted });
  }
  const found = [...data.keys.keys()]
    .filter((key) => key.startsWith(prefix) && (after === undefined || byBytes(key, after) > 0))
    .sort(byBytes)
    .flatMap((key) => itemAt(key, data.keys.get(key) ?? [], revision) ?? []);
  return { revision, items: found.slice(0, limit), more: found.length > limit };
}

function compactTo(data: Data, revision: number): void {
  if (revision > data.revision) {
    throw new StoreError('future', `revision ${revision} has not been reached yet`, {
      revision: data.revision,
    });
  }
  if (revision <= data.compacted) return;
  data.compacted = revision;
  for (const [key, versions] of data.keys) {
    const newest = versionAt(versions, revision);
    const retained = versions.filter((version) => version.revision > revision || version === newest);
    if (retained.length === 1 && retained[0]?.value === undefined) data.keys.delete(key);
    else data.keys.set(key, retained);
  }
}

/** The watches of a store, and the controls that interrupt them. */
class Watches {
  readonly #data: Data;
  readonly #open = new Set<OpenWatch>();
  #paused = false;

  constructor(data: Data) {
    this.#data = data;
  }

  get count(): number {
    return this.#open.size;
  }

  add(watch: OpenWatch, failure: () => StoreError | undefined): StoreWatch {
    this.#open.add(watch);
    queueMicrotask(() => this.#begin(watch, failure()));
    const progress = (): void => {
      if (!this.#paused && this.#open.has(watch)) watch.sink.onProgress(this.#data.revision);
    };
    return {
      requestProgress: () => queueMicrotask(progress),
      close: () => void this.#open.delete(watch),
    };
  }

  #begin(watch: OpenWatch, failure: StoreError | undefined): void {
    const { revision, compacted } = this.#data;
    if (failure !== undefined) this.#end(watch, failure);
    else if (watch.position >= compacted) this.#pump(watch);
    else {
      const message = `revision ${watch.position} was compacted, newest is ${revision}`;
      this.#end(watch, new StoreError('compacted', message, { revision: compacted }));
    }
  }

  #pump(watch: OpenWatch): void {
    if (this.#paused || !this.#open.has(watch)) return;
    // Revisions have no gaps, so they index the events.
    const given = Math.max(watch.position - FIRST_REVISION, 0);
    const events = this.#data.log.slice(given).filter(({ key }) => key.startsWith(watch.prefix));
    watch.position = Math.max(watch.position, this.#data.revision);
    if (events.length > 0) watch.sink.onEvents(events);
  }

  #end(watch: OpenWatch, error: StoreError): void {
    if (this.#open.delete(watch)) watch.sink.onEnd(error);
  }

  pumpAll(): void {
    for (const watch of this.#open) this.#pump(watch);
  }

  endAll(error: StoreError): void {
    for (const watch of this.#open) this.#end(watch, error);
  }

  give(events: readonly StoreEvent[]): void {
    for (const { sink } of this.#open) sink.onEvents(events);
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.pumpAll();
  }
}

function append(data: Data, event: StoreEvent): WriteResult {
  data.revision = event.revision;
  data.log.push(event);
  const version = { revision: event.revision, value: event.type === 'put' ? event.value : undefined };
  data.keys.set(event.key, [...(data.keys.get(event.key) ?? []), version]);
  return { ok: true, revision: event.revision };
}

export function createMemoryStore(): MemoryStore {
  const data: Data = { keys: new Map(), log: [], revision: FIRST_REVISION, compacted: 0 };
  const watches = new Watches(data);
  let failure: StoreError | undefined;

  async function attempt<T>(action: () => T): Promise<T> {
    await Promise.resolve();
    if (failure !== undefined) throw failure;
    return action();
  }

  const current = (key: string): StoredItem | undefined =>
    itemAt(key, data.keys.get(key) ?? [], data.revision);

  function write(key: string, expected: Expected, event: (revision: number) => StoreEvent): WriteResult {
    const found = current(key);
    if (!meets(found, expected)) return { ok: false, current: found };
    const result = append(data, event(data.revision + 1));
    watches.pumpAll();
    return result;
  }

  return {
    isShared: false,
    revisionStep: 1,
    currentRevision: () => attempt(() => data.revision),
    get: (key) => attempt(() => current(key)),
    range: (prefix, options = {}) => attempt(() => rangeOf(data, prefix, options)),
    put: (key, value, expected) =>
      attempt(() => write(key, expected, (revision) => ({ type: 'put', key, value, revision }))),
    delete: (key, expected) =>
      attempt(() => write(key, expected, (revision) => ({ type: 'delete', key, revision }))),
    watch: (prefix, position, sink) => watches.add({ prefix, sink, position }, () => failure),
    compact: (revision) => attempt(() => compactTo(data, revision)),
    close() {
      failure = new StoreError('closed', 'store is closed');
      watches.endAll(failure);
      return Promise.resolve();
    },
    endWatches: (error) => watches.endAll(error),
    give: (events) => watches.give(events),
    pauseWatches: (paused) => watches.pause(paused),
    failWith(error) {
      failure = error;
    },
    get watchCount() {
      return watches.count;
    },
  };
}
