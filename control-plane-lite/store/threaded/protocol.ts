/** Messages between a store in a thread of its own and its client: once per turn of the event loop,
 *  everything that came up in it. */
import type { PlainStoreError } from '../plain-error.ts';
import type { ReadRequest } from '../read-requests.ts';
import type { PackedRecords } from '../records.ts';

/** Requests other than writes. Watches have numbers of their own. */
export type Request =
  | { readonly kind: 'currentRevision'; readonly id: number }
  | ReadRequest
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
  | { readonly kind: 'events'; readonly watch: number; readonly count: number }
  | { readonly kind: 'progress'; readonly watch: number; readonly revision: number }
  | { readonly kind: 'ended'; readonly watch: number; readonly error: PlainStoreError }
  /** A write's precondition failed: the current item, if any. */
  | { readonly kind: 'conflict'; readonly write: number; readonly count: 0 | 1 }
  | { readonly kind: 'notWritten'; readonly write: number; readonly error: PlainStoreError }
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
  /** Successful writes: the number of each, and its revision. */
  readonly written: Float64Array;
  readonly steps: readonly Step[];
}
