/** The revisioned store that everything is kept in. A counter rises with every successful write; the value it then
 *  has is the revision of what was written, and of nothing else. Implementations: `embedded/` (SQLite), `etcd/`. One conformance
 *  suite holds for all. Keys are paths such as `/registry/pods/default/web`, values are opaque bytes.
 *
 *  Promises made:
 *  - A write that was answered is on stable storage, and nothing of a write that failed is.
 *  - Writes of one store are in one order, and every watch sees exactly that order, without gap or duplicate.
 *  - An embedded store has given a write's event to every watch before it answers the write. */

export interface StoredItem {
  readonly key: string;
  readonly value: Buffer;
  /** Revision of the last write to the key. */
  readonly revision: number;
}

export interface RangeOptions {
  /** The state as it was at this revision; default: the newest. */
  readonly revision?: number;
  /** Only keys after this one. */
  readonly after?: string;
  readonly limit?: number;
}

export interface RangeResult {
  /** The revision that the answer shows: that asked for, else the newest. */
  readonly revision: number;
  /** In order of the keys' bytes. */
  readonly items: readonly StoredItem[];
  /** Whether `limit` cut something off. */
  readonly more: boolean;
}

/** What must be there for a write to happen: nothing, or an item of exactly this revision. */
export type Expected = 'absent' | number;

export type WriteResult =
  | { readonly ok: true; readonly revision: number }
  /** The expectation did not hold; `current` is what is there instead. */
  | { readonly ok: false; readonly current: StoredItem | undefined };

export type StoreEvent =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer; readonly revision: number }
  | { readonly type: 'delete'; readonly key: string; readonly revision: number };

export interface WatchSink {
  /** Events in order; all of one commit at once. */
  onEvents(events: readonly StoreEvent[]): void;
  /** Everything up to this revision was given, whether or not there were events. */
  onProgress(revision: number): void;
  /** The watch is over: `compacted` if history no longer reaches back, else a failure of the connection.
   *  Whoever watches starts anew. Not called after `close`. */
  onEnd(error: StoreError): void;
}

export interface StoreWatch {
  /** Asks for `onProgress` with the newest revision. */
  requestProgress(): void;
  close(): void;
}

export interface Store {
  /** Whether others write to it, too: what its watches have told may be behind. */
  readonly isShared: boolean;
  /** By how much the counter rises with a write while there is no other. */
  readonly revisionStep: number;
  /** The newest revision; for a distributed store agreed on by its quorum. */
  currentRevision(): Promise<number>;
  get(key: string): Promise<StoredItem | undefined>;
  /** @throws StoreError `compacted` or `future` if the revision asked for isn't held. */
  range(prefix: string, options?: RangeOptions): Promise<RangeResult>;
  put(key: string, value: Buffer, expected: Expected): Promise<WriteResult>;
  /** Answers with the revision of the deletion itself. */
  delete(key: string, expected: number): Promise<WriteResult>;
  /** Every event of keys with the prefix after the revision. */
  watch(prefix: string, afterRevision: number, sink: WatchSink): StoreWatch;
  /** Forgets what was overwritten or deleted at or before the revision; the newest values stay. */
  compact(revision: number): Promise<void>;
  close(): Promise<void>;
}

export type StoreErrorReason =
  /** The revision asked for was compacted away. */
  | 'compacted'
  /** The revision asked for isn't there yet. */
  | 'future'
  /** No space left, or the disk is read-only: writes fail, reads go on. */
  | 'noSpace'
  | 'readOnly'
  | 'tooLarge'
  | 'unavailable'
  | 'closed'
  | 'corrupt';

export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreErrorReason;
  /** Oldest revision held, where the reason is `compacted`; newest where it is `future`. */
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
