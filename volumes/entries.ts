/** Reading directories that may be of any size and hold any names, a batch at a time. */
import { opendir } from 'node:fs/promises';
import { type Held, heldPath } from './held-dir.ts';

export interface Entry {
  /** The bytes of the name; they need not be UTF-8. */
  readonly name: Buffer;
  readonly isDirectory: boolean;
}

const BATCH = 32;

/** The entries of a held directory in batches. */
export async function* entryBatches(dir: Held): AsyncGenerator<readonly Entry[], void, void> {
  let batch: Entry[] = [];
  // Latin-1 keeps every byte of a name.
  for await (const entry of await opendir(heldPath(dir), { encoding: 'latin1', bufferSize: BATCH })) {
    batch.push({ name: Buffer.from(entry.name, 'latin1'), isDirectory: entry.isDirectory() });
    if (batch.length >= BATCH) {
      yield batch;
      batch = [];
    }
  }
  yield batch;
}

/** Waits for all of them, then throws the first failure. Nothing that works on a held directory may outlive it:
 *  the number of its descriptor would soon mean another directory. */
export async function settleAll(work: readonly Promise<unknown>[]): Promise<void> {
  const results = await Promise.allSettled(work);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
