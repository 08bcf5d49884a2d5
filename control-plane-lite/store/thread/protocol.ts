/** Messages between a store in a thread of its own and its proxy: once per turn of the event loop, everything
 *  that came up in it. Their order is part of the protocol: the outcome of a write is sent before any step
 *  that shows the write. */
import { StoreError, type StoreErrorReason } from '../contract.ts';
import type { PackedRecords } from '../records.ts';

/** Requests other than writes. Watches have numbers of their own. */
export type Request =
  | { readonly kind: 'currentRevision'; readonly id: number }
  | { readonly kind: 'get'; readonly id: number; readonly key: string }
  | {
      readonly kind: 'range';
      readonly id: number;
      readonly prefix: string;
      readonly revision: number | undefined;
      readonly after: string | undefined;
      readonly limit: number | undefined;
    }
  | { readonly kind: 'compact'; readonly id: number; readonly revision: number }
  | { readonly kind: 'close'; readonly id: number }
  | WatchRequest;

export type WatchRequest =
  | { readonly kind: 'watch'; readonly watch: number; readonly prefix: string; readonly after: number }
  | { readonly kind: 'progress' | 'unwatch'; readonly watch: number };

export interface ToThread {
  /** Number: the expected revision, 0 for absent; without a value a deletion. Both sides number them from 1
   *  in the order of sending. */
  readonly writes: PackedRecords | undefined;
  readonly requests: readonly Request[];
  /** Bytes of records that were received and delivered since the last message. */
  readonly takenBytes: number;
}

/** Steps in order. One with `count` is about that many of the turn's records, in their order. */
export type Step =
  /** The next `count` of the turn's outcomes. */
  | { readonly kind: 'written'; readonly count: number }
  | { readonly kind: 'notWritten'; readonly write: number; readonly error: PlainStoreError }
  | { readonly kind: 'events'; readonly watch: number; readonly count: number }
  /** The watch has caught up with this revision. From here on, the proxy delivers the events of the writes
   *  whose outcomes it receives. Only of stores that are not shared. */
  | { readonly kind: 'live'; readonly watch: number; readonly revision: number }
  | { readonly kind: 'progress'; readonly watch: number; readonly revision: number }
  | { readonly kind: 'ended'; readonly watch: number; readonly error: PlainStoreError }
  | Reply;

export type Reply =
  /** A part of a response; `more` refers to the whole. */
  | {
      readonly kind: 'items';
      readonly id: number;
      readonly count: number;
      readonly revision: number;
      readonly more: boolean;
      readonly isLast: boolean;
    }
  | { readonly kind: 'revision'; readonly id: number; readonly revision: number }
  | { readonly kind: 'done'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: PlainStoreError };

export interface Turn {
  readonly kind: 'turn';
  readonly records: PackedRecords;
  /** For each write its number and its revision. If the precondition failed, instead of the revision 0 for an
   *  absent key, or -1: the next record is the current item. */
  readonly outcomes: Float64Array;
  readonly steps: readonly Step[];
}

/** The thread has started, or has completed its task. */
export interface Ready {
  readonly kind: 'ready';
}

/** It failed to start, and exits. */
export interface Refusal {
  readonly kind: 'refused';
  readonly error: PlainStoreError;
}

export interface PlainStoreError {
  readonly reason: StoreErrorReason;
  readonly message: string;
  readonly revision: number | undefined;
  /** Message of the cause. */
  readonly cause: string | undefined;
}

/** A store throws StoreErrors; anything else is a bug of its own, and makes it `unavailable`. */
export function toPlainError(thrown: unknown): PlainStoreError {
  if (!(thrown instanceof StoreError)) {
    return { reason: 'unavailable', message: String(thrown), revision: undefined, cause: undefined };
  }
  const { reason, message, revision, cause } = thrown;
  return { reason, message, revision, cause: cause instanceof Error ? String(cause) : undefined };
}

export function fromPlainError({ reason, message, revision, cause }: PlainStoreError): StoreError {
  return new StoreError(reason, message, {
    ...(revision === undefined ? {} : { revision }),
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
  });
}
