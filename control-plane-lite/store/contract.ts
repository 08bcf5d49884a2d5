/** Contract of the revisioned store. A counter rises with every successful write; its value then is the
 *  revision of that write, and of no other. Implementations: `embedded/` (SQLite), `etcd/`. One conformance
 *  suite applies to all. Keys are paths such as `/registry/pods/default/web`, values are opaque bytes.
 *
 *  Guarantees:
 *  - An acknowledged write is on stable storage, and nothing of a failed write is.
 *  - The writes of a store have one order, and every watch sees exactly that order, without gap or duplicate.
 *  - An embedded store delivers the event of a write to every watch before it acknowledges the write. */

export interface StoredItem {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write to the key. */
  readonly revision: number;
}

export interface RangeOptions {
  /** The revision to read; default: the newest. */
  readonly revision?: number;
  /** Only keys after this one (exclusive). */
  readonly after?: string;
  readonly limit?: number;
  /** `return`: values that cannot be decrypted are returned as `sealed`; otherwise the call fails. */
  readonly sealed?: 'return';
}

/** A key whose value cannot be decrypted, at least at the moment. */
export interface SealedItem {
  readonly key: string;
  readonly error: StoreError;
}

export interface RangeResult {
  /** The revision that the result shows: the requested one, else the newest. */
  readonly revision: number;
  /** In order of the keys' bytes. */
  readonly items: readonly StoredItem[];
  /** In the same order; only if the options request it. */
  readonly sealed?: readonly SealedItem[];
  /** Whether `limit` truncated the result. */
  readonly more: boolean;
}

/** Precondition of a write: the key is absent, or its item has exactly this revision. */
export type Expected = 'absent' | number;

export type WriteResult =
  | { readonly ok: true; readonly revision: number }
  /** The precondition failed; `current` is the current item, if any. */
  | { readonly ok: false; readonly current: StoredItem | undefined };

export type StoreEvent =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number };

export interface WatchSink {
  /** Events in order; all events of one commit at once. */
  onEvents(events: readonly StoreEvent[]): void;
  /** Everything up to this revision was delivered, whether or not there were events. */
  onProgress(revision: number): void;
  /** The watch has ended: `compacted` if history no longer reaches back, else a connection failure. The
   *  watcher has to start again. Not called after `close`. */
  onEnd(error: StoreError): void;
}

export interface StoreWatch {
  /** Requests `onProgress` with the newest revision. */
  requestProgress(): void;
  close(): void;
}

export interface Store {
  /** Whether other processes write to it too, so that its watches may lag. */
  readonly isShared: boolean;
  /** Increment of the counter per write while there are no other writes. */
  readonly revisionStep: number;
  /** Returns the newest revision; a distributed store has it confirmed by its quorum. */
  currentRevision(): Promise<number>;
  get(key: string): Promise<StoredItem | undefined>;
  /** @throws StoreError `compacted` or `future` if the revision is not available. */
  range(prefix: string, options?: RangeOptions): Promise<RangeResult>;
  put(key: string, value: Buffer, expected: Expected): Promise<WriteResult>;
  /** Returns the revision of the deletion itself. */
  delete(key: string, expected: number): Promise<WriteResult>;
  /** Whether a write of the same value would store it in another form, because its key has been rotated; absent: never. */
  readonly isStale?: (key: string) => boolean;
  /** Delivers every event of keys with the prefix after the revision. */
  watch(prefix: string, afterRevision: number, sink: WatchSink): StoreWatch;
  /** Drops values overwritten or deleted at or before the revision; the newest values stay. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

export type StoreErrorReason =
  /** The requested revision was compacted. */
  | 'compacted'
  /** The requested revision has not been reached yet. */
  | 'future'
  /** No space left, or the disk is read-only: writes fail, reads still work. */
  | 'noSpace'
  | 'readOnly'
  | 'tooLarge'
  | 'unavailable'
  | 'closed'
  | 'corrupt';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreErrorReason;
  /** Oldest available revision if the reason is `compacted`; newest if it is `future`. */
  readonly revision: number | undefined;

  constructor(
    reason: StoreErrorReason,
    message: string,
    options: { revision?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.reason = reason;
    this.revision = options.revision;
  }
}
