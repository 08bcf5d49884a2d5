/** Batched reading of directories of any size with arbitrary names. */
import { opendir } from 'node:fs/promises';
import { type Held, heldPath } from './held-dir.ts';

export interface Entry {
  /** The name as bytes, which need not be UTF-8. */
  readonly name: Buffer;
  readonly isDirectory: boolean;
}

const BATCH = 32;

/** Returns the entries of a held directory in batches. */
export async function* entryBatches(dir: Held): AsyncGenerator<readonly Entry[], void, void> {
  let batch: Entry[] = [];
  // Latin-1 preserves every byte of a name.
  for await (const entry of await opendir(heldPath(dir), { encoding: 'latin1', bufferSize: BATCH })) {
    batch.push({ name: Buffer.from(entry.name, 'latin1'), isDirectory: entry.isDirectory() });
    if (batch.length >= BATCH) {
      yield batch;
      batch = [];
    }
  }
  yield batch;
}

/** Waits for all, then throws the first failure. Work on a held directory must not outlive it: the number
 *  of its descriptor would soon refer to another directory. */
export async function settleAll(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
