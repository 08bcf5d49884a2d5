/** Reads again what could not be decrypted when the state was loaded. */
import { asError } from '#api/kit/errno.ts';
import type { Store, StoredItem } from '../../store/contract.ts';
import type { Sealed } from '../state/sealed.ts';

/** Values that are read at once. */
const BATCH = 50;
/** A service that decrypts none of so many in a row is not asked for the others. */
const FAILED_BATCHES = 2;

export interface UnsealDeps {
  readonly store: Pick<Store, 'get'>;
  readonly sealed: Pick<Sealed, 'keys' | 'add'>;
  /** Applies a value; `undefined`: the key was deleted meanwhile. */
  readonly unseal: (key: string, item: StoredItem | undefined) => void;
}

/** Reads the sealed keys, those that failed longest ago first. Returns the last failure, if there was any. */
export async function unsealAll(
  { store, sealed, unseal }: UnsealDeps,
  signal: AbortSignal,
): Promise<Error | undefined> {
  let failure: Error | undefined;
  let failedBatches = 0;
  const keys = sealed.keys();
  for (let start = 0; start < keys.length && failedBatches < FAILED_BATCHES; start += BATCH) {
    const batch = keys.slice(start, start + BATCH);
    const read = await Promise.allSettled(batch.map((key) => store.get(key)));
    if (signal.aborted) return failure;
    let opened = 0;
    for (const [index, result] of read.entries()) {
      const key = batch[index] ?? '';
      if (result.status === 'fulfilled') {
        opened += 1;
        unseal(key, result.value);
      } else {
        failure = asError(result.reason);
        sealed.add(key);
      }
    }
    failedBatches = opened === 0 ? failedBatches + 1 : 0;
  }
  return failure;
}
