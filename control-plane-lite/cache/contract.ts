/** The newest state of every stored resource in memory, with enough of its past to show consistent pages and to
 *  resume watches. Objects are kept as the bytes that clients get, encoded once per revision; a parsed object is
 *  made when somebody needs one. Fed by one watch of the store. */
import type { FieldRequirement } from '#api/meta/field-selectors.ts';
import type { Requirement } from '#api/meta/selectors.ts';
import type { ApiObject, StorageInfo } from '../resources/contract.ts';

export interface CachedObject {
  /** `namespace/name`, or `name` where there are no namespaces. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly revision: number;
  /** JSON of the stored version, `metadata.resourceVersion` included. */
  readonly json: Buffer;
  readonly labels: Readonly<Record<string, string>>;
  /** Values of the fields that selectors may name, `metadata.name` and `metadata.namespace` included. */
  readonly fields: Readonly<Record<string, string>>;
  /** This very process made it, so that nothing about its form or its defaults is of another time. */
  readonly madeHere: boolean;
  /** The parsed object: shared, never to be changed. */
  object(): ApiObject;
  /** A form of the object that was made before under this name, or made now; kept for as long as is worth it. */
  form(name: string, make: () => Buffer): Buffer;
}

/** The part of it by which it is shown. */
export type StoredForm = Pick<CachedObject, 'json' | 'object' | 'form'>;

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  /** Empty: every object. */
  readonly labels: readonly Requirement[];
  readonly fields: readonly FieldRequirement[];
}

export interface ListOptions extends Selection {
  /** Exactly this state; absent: the newest that the cache has. */
  readonly revision?: number;
  /** Only objects whose key comes after this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface ListPage {
  /** The state that the page shows. */
  readonly revision: number;
  readonly items: readonly CachedObject[];
  /** Key to go on after; absent: nothing is left. */
  readonly next?: string;
  /** How many are left; only where nothing is selected away. */
  readonly remaining?: number;
}

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** Makes the bytes of events. Two encoders with the same `id` make the same bytes, and their watchers share them. */
export interface EventEncoder {
  readonly id: string;
  encode(type: WatchEventType, object: CachedObject): Buffer;
  bookmark(revision: number, initialEventsEnd: boolean): Buffer;
}

export interface WatchOptions extends Selection {
  /** One object only; with its namespace, if it has one. */
  readonly name?: string;
  /** `revision`: events after it. `state`: first an ADDED for every object of the newest state. */
  readonly start: { readonly kind: 'revision'; readonly revision: number } | { readonly kind: 'state' };
  readonly bookmarks: boolean;
  /** A bookmark marks the end of the synthetic events (`sendInitialEvents`). */
  readonly markInitialEnd: boolean;
}

/** Where a watcher's bytes go. */
export interface ByteSink {
  /** One or many whole events. All bytes of one turn of the event loop come at once.
   *  @param readers watchers that get this very buffer; default 1 */
  write(bytes: Buffer, readers?: number): void;
  /** The watcher is over, for the server's reasons: history is lost, or the store is away. */
  end(reason: 'expired' | 'unavailable'): void;
  /** Asked between the pieces of a long start: resolves when the client has taken most of what was written;
   *  `undefined`, or no such function: go on at once. */
  drained?(): Promise<void> | undefined;
}

export interface ResourceCache {
  readonly storage: StorageInfo;
  /** The newest revision up to which the cache has seen everything. */
  readonly revision: number;
  get(key: string): CachedObject | undefined;
  /** @throws CacheError `expired` if the revision is older than what is kept, `future` if it isn't there yet. */
  list(options: ListOptions): ListPage | Promise<ListPage>;
  /** Nothing is written before this returns. @throws CacheError `expired`, `unavailable` */
  watch(options: WatchOptions, encoder: EventEncoder, sink: ByteSink): Watch;
  /** Calls for every change, for parts of the server itself (controllers, authorizer, admission). First the state. */
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
  /** Closes it in good order, when its time is up: writes what is due and, if asked for, a last bookmark. */
  finish(): void;
}

/** All resources of one store. */
export interface Cache {
  /** The cache of a storage; made when first asked for. `selectable` tells the fields that selectors may name. */
  resource(storage: StorageInfo, selectable?: SelectableFields): ResourceCache;
  /** Tells of which object the bytes were made that are about to be stored under the store's key, so that they need
   *  not be parsed. The object is never to be changed from then on. */
  offer(key: string, stored: Buffer, object: ApiObject): void;
  /** No longer kept (a removed custom resource). */
  forget(storage: StorageInfo): void;
  /** Everything up to this revision was applied. */
  readonly revision: number;
  /** Resolves when the cache has everything up to the revision. @throws CacheError `future` after the time-out. */
  waitFor(revision: number, timeoutMs: number): Promise<void>;
  /** Resolves when the cache has everything that the store had when asked. */
  waitForNewest(): Promise<void>;
  /** Follows the store until the signal; resolves once the first state is loaded. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether the store is followed right now, for readiness. */
  readonly synced: boolean;
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
