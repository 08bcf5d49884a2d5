/** Writes waiting to be sent to the thread, and those whose outcome is pending. */
import { createTransientMap } from '#api/kit/transient.ts';
import type { StoreError, WriteResult } from '../contract.ts';
import { type PackableRecord, type PackedRecords, packRecords } from '../records.ts';

export interface Writes {
  /** @param value undefined: to be deleted
   *  @param expected the revision, 0 for absent */
  readonly add: (key: string, value: Buffer | undefined, expected: number) => Promise<WriteResult>;
  /** Takes all unsent writes, to be sent. */
  readonly take: () => PackedRecords | undefined;
  readonly settle: (write: number, result: WriteResult) => void;
  readonly fail: (write: number, error: StoreError) => void;
  readonly failAll: (error: StoreError) => void;
}

interface Writer {
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: StoreError) => void;
}

export function createWrites(): Writes {
  /** By their numbers, which the thread counts as well. */
  const writers = createTransientMap<number, Writer>();
  let waiting: PackableRecord[] = [];
  let last = 0;

  function taken(write: number): Writer | undefined {
    const writer = writers.get(write);
    writers.delete(write);
    return writer;
  }

  return {
    add: (key, value, expected) =>
      new Promise((resolve, reject) => {
        last += 1;
        writers.set(last, { resolve, reject });
        waiting.push({ key, value, number: expected });
      }),
    take() {
      if (waiting.length === 0) return undefined;
      const packed = packRecords(waiting);
      waiting = [];
      return packed;
    },
    settle: (write, result) => taken(write)?.resolve(result),
    fail: (write, error) => taken(write)?.reject(error),
    failAll(error) {
      const all = [...writers.values()];
      writers.clear();
      waiting = [];
      for (const { reject } of all) reject(error);
    },
  };
}
