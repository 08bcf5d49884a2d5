/** Contract of the watch cache: the newest state of every stored resource in memory, with enough history for
 *  consistent pages and resumed watches. Objects are cached as response bytes, encoded once per revision, and
 *  parsed on demand. Fed by one watch of the store. */
import type { FieldRequirement } from '#api/meta/field-selectors.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';

export interface CachedObject {
  /** `namespace/name`, or `name` for cluster-scoped resources. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  /** JSON of the stored version, `metadata.resourceVersion` included. */
  readonly json: Buffer;
  readonly labels: Readonly<Record<string, string>>;
  /** Values of the selectable fields, `metadata.name` and `metadata.namespace` included. */
  readonly fields: Readonly<Record<string, string>>;
  /** Encoded by this very process, so that its format and defaults are current. */
  readonly madeHere: boolean;
  /** The parsed object: shared, never to be modified. */
  object(): ApiObject;
  /** Returns an encoding of the object that was cached under this name or is created now; cached as long as
   *  the budget allows. */
  load?(turn: () => Promise<void>): Promise<ApiObject>;
  /** A form of the object under this name, encoded on first use; retained while that is worth its memory. */
  form(name: string, make: () => Buffer): Buffer;
}

/** The part of it by which it is shown. */
export type StoredForm = Pick<CachedObject, 'json' | 'object' | 'load' | 'form'>;

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Empty: all objects. */
  readonly labels: readonly Requirement[];
  readonly fields: readonly FieldRequirement[];
}

export interface ListOptions extends Selection {
  /** Exactly this state; absent: the newest state of the cache. */
  readonly revision?: number;
  /** Only objects whose key comes after this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface ListPage {
  /** Revision of the page's state. */
  readonly revision: number;
  readonly items: readonly CachedObject[];
  /** Key to continue after; absent: the list is complete. */
  readonly next?: string;
  /** Number of remaining objects; only without a selector. */
  readonly remaining?: number;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Encodes events. Two encoders with the same `id` produce the same bytes, which their watchers share. */
export interface EventEncoder {
  readonly id: string;
  encode(type: WatchEventType, object: CachedObject): Buffer;
  bookmark(revision: number, initialEventsEnd: boolean): Buffer;
}

export interface WatchOptions extends Selection {
  /** A single object; with its namespace, if it is namespaced. */
  readonly name?: string;
  /** `revision`: events after it. `state`: first a synthetic ADDED for every object of the newest state. */
  readonly start: { readonly kind: 'revision'; readonly revision: number } | { readonly kind: 'state' };
  readonly bookmarks: boolean;
  /** A bookmark marks the end of the synthetic events (`sendInitialEvents`). */
  readonly markInitialEnd: boolean;
}

/** Output of a watcher. */
export interface ByteSink {
  /** Writes one or more whole events. All bytes of one turn of the event loop arrive together.
   *  @param readers watchers that get this very buffer; default 1 */
  write(bytes: Buffer, readers?: number): void;
  /** The server terminates the watch: history was lost, or the store is unavailable. */
  end(reason: 'expired' | 'unavailable'): void;
  /** The initial state, or the changes since the requested revision, have been written. */
  initialized?(): void;
  /** Backpressure during a long initial state: resolves once the client has taken most of the written bytes;
   *  `undefined`, or no such function: continue immediately. */
  drained?(): Promise<void> | undefined;
}

export interface ResourceCache {
  readonly storage: StorageInfo;
  /** The newest revision up to which the cache has applied everything. */
  readonly revision: number;
  /** @throws StatusError ServiceUnavailable if the object may be one that cannot be decrypted yet, as `list` and
   *  `watch` do */
  get(key: string): CachedObject | undefined;
  /** @throws CacheError `expired` if the revision is older than the retained history, `future` if it has not
   *  been reached. */
  list(options: ListOptions): ListPage | Promise<ListPage>;
  /** Nothing is written before this returns. @throws CacheError `expired`, `unavailable` */
  watch(options: WatchOptions, encoder: EventEncoder, sink: ByteSink): Watch;
  /** Calls for every change, for subsystems of the server itself (controllers, authorizer, admission). First
   *  for the state. */
  follow(listener: (change: CacheChange) => void): WatchHandle;
  readonly size: number;
}

export interface CacheChange {
  readonly type: WatchEventType;
  readonly current: CachedObject;
  readonly previous?: CachedObject;
}

export interface WatchHandle {
  close(): void;
}

export interface Watch extends WatchHandle {
  /** Ends the watch gracefully when it times out: writes pending events and, if requested, a last
   *  bookmark. */
  finish(): void;
}

/** The watch cache of one store. */
export interface Cache {
  /** Returns the cache of a storage; created on first use. `selectable` returns the fields that selectors may
   *  name. */
  resource(storage: StorageInfo, selectable?: SelectableFields): ResourceCache;
  /** Registers the object that bytes about to be stored under the key were encoded from, so that they need
   *  not be parsed. The object must never be modified from then on. */
  offer(key: string, stored: Buffer, object: ApiObject): void;
  /** Stops caching a resource (a removed custom resource). */
  forget(storage: StorageInfo): void;
  /** Everything up to this revision has been applied. */
  readonly revision: number;
  /** Resolves once the cache has applied the revision. @throws CacheError `future` after the timeout. */
  waitFor(revision: number, timeoutMs: number): Promise<void>;
  /** Resolves once the cache has applied everything that the store contained at the time of the call. */
  waitForNewest(): Promise<void>;
  /** Follows the store until the signal; resolves once the first state is loaded. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether the store is being followed right now, for readiness. */
  readonly synced: boolean;
  /** Resolves once no stored value below the prefixes waits to be decrypted, or the signal fires; undefined if none
   *  does. Until then an object that is absent may exist, so nothing may be decided by its absence. */
  readable(prefixes: ReadonlySet<string> | 'every', signal: AbortSignal): Promise<void> | undefined;
}

export type SelectableFields = Readonly<Record<string, (object: ApiObject) => string>>;

export class CacheError extends Error {
  override readonly name = 'CacheError';
  readonly reason: 'expired' | 'future' | 'unavailable';
  /** The newest revision at that time. */
  readonly revision: number;

  constructor(reason: 'expired' | 'future' | 'unavailable', message: string, revision: number) {
    super(message);
    this.reason = reason;
    this.revision = revision;
  }
}
