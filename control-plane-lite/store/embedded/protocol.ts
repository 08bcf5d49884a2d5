/** Messages between the store's two threads. Their order is part of the protocol: the reply to a write is
 *  sent before any reply that shows the write. */
import type { PlainStoreError } from '../plain-error.ts';
import type { ReadRequest } from '../read-requests.ts';
import type { PackedRecords } from '../records.ts';

export type Request =
  | ReadRequest
  | { readonly kind: 'history'; readonly id: number; readonly prefix: string; readonly after: number }
  | { readonly kind: 'compact'; readonly id: number; readonly revision: number }
  | { readonly kind: 'close'; readonly id: number };

/** Writes gathered by the main thread in one turn of its event loop. */
export interface ToWorker {
  /** Number: the expected revision, 0 for absent. */
  readonly writes: PackedRecords | undefined;
  readonly requests: readonly Request[];
}

/** The thread's task has started (`serve`) or is complete. */
export interface ReadyWord {
  readonly kind: 'ready';
  readonly revision: number;
}

export type ToMain =
  | {
      readonly kind: 'written';
      /** In the order of the writes: the revision of each, negative (or 0, if the key is absent) if the
       *  precondition failed. */
      readonly outcomes: Float64Array;
      /** The current item, for each negative outcome. */
      readonly conflicts: PackedRecords;
    }
  | {
      readonly kind: 'writeFailed';
      /** Number of messages whose writes all failed. */
      readonly messages: number;
      readonly error: PlainStoreError;
    }
  | {
      readonly kind: 'items';
      readonly id: number;
      readonly items: PackedRecords;
      readonly revision: number;
      readonly done: boolean;
    }
  | {
      readonly kind: 'history';
      readonly id: number;
      readonly events: PackedRecords;
      /** No further events exist up to this revision. */
      readonly upTo: number;
    }
  | { readonly kind: 'done'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: PlainStoreError };

/** Task of a thread. */
export type WorkerTask =
  | { readonly task: 'serve'; readonly dir: string; readonly check: boolean }
  | { readonly task: 'backup'; readonly dir: string; readonly target: string; readonly keysDir?: string }
  | {
      readonly task: 'restore';
      readonly dir: string;
      readonly file: string;
      readonly force: boolean;
      readonly keysDir?: string;
    };
