/** What the store's two threads tell each other. The order of messages is part of it: the reply to a write is
 *  sent before any reply that shows the write. */
import type { PlainStoreError } from '../plain-error.ts';
import type { ReadRequest } from '../read-requests.ts';
import type { PackedRecords } from '../records.ts';

export type Request =
  | ReadRequest
  | { readonly kind: 'history'; readonly id: number; readonly prefix: string; readonly after: number }
  | { readonly kind: 'compact'; readonly id: number; readonly revision: number }
  | { readonly kind: 'close'; readonly id: number };

/** What the main thread gathered in one turn of its event loop. */
export interface ToWorker {
  /** Number: the revision that is expected, 0 for absent. */
  readonly writes: PackedRecords | undefined;
  readonly requests: readonly Request[];
}

/** The thread's task is under way (`serve`) or done. */
export interface ReadyWord {
  readonly kind: 'ready';
  readonly revision: number;
}

export type ToMain =
  | {
      readonly kind: 'written';
      /** In the order of the writes: the revision of each, negative (or 0, if nothing is there) where the
       *  expectation did not hold. */
      readonly outcomes: Float64Array;
      /** What is there, for each negative outcome. */
      readonly conflicts: PackedRecords;
    }
  | {
      readonly kind: 'writeFailed';
      /** How many messages' writes failed, all of them. */
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
      /** There is nothing else up to this revision. */
      readonly upTo: number;
    }
  | { readonly kind: 'done'; readonly id: number }
  | { readonly kind: 'failed'; readonly id: number; readonly error: PlainStoreError };

/** What a thread is started for. */
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
