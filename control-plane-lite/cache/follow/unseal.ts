/** Reads again what could not be decrypted when the state was loaded. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import type { Store, StoredItem } from '../../store/contract.ts';
import type { Sealed } from '../state/sealed.ts';

/** Values that are read at once. */
const BATCH = 50;
/** A service that decrypts none of so many in a row is not asked for the others. */
const FAILED_BATCHES = 2;
/** Time between two attempts, in ms. */
const UNSEAL_MS = 2000;

interface UnsealDeps {
  readonly store: Pick<Store, 'get'>;
  readonly sealed: Pick<Sealed, 'keys' | 'add'>;
  /** Applies a value; `undefined`: the key was deleted meanwhile. */
  readonly unseal: (key: string, item: StoredItem | undefined) => void;
}

/** Reads the sealed keys, those that failed longest ago first. Returns the last failure, if there was any. */
async function unsealAll(
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

const UNSEAL_WAIT = 'stored values to be decrypted';

/** Returns the resources of the keys with their counts: `2 of secrets`. */
export function describeSealed(keys: readonly string[], prefix: string): string {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const [resource = ''] = key.slice(prefix.length).split('/', 1);
    counts.set(resource, (counts.get(resource) ?? 0) + 1);
  }
  return [...counts].map(([resource, count]) => `${count} of ${resource}`).join(', ');
}

export interface UnsealingDeps {
  readonly store: Pick<Store, 'get'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  readonly waits: Pick<Waits, 'begin'> | undefined;
  readonly target: Pick<UnsealDeps, 'unseal'> & { readonly sealed: Sealed };
  /** Common prefix of all keys. */
  readonly prefix: string;
}

export interface Unsealing {
  /** Resolves with the time of the next attempt; undefined if nothing is sealed. */
  attempt(signal: AbortSignal): Promise<number | undefined>;
  stop(): void;
}

/** Displays the keys that wait. */
export function createUnsealing({ store, clock, log, waits, target, prefix }: UnsealingDeps): Unsealing {
  const { sealed } = target;
  let wait: Wait | undefined;
  return {
    async attempt(signal) {
      if (sealed.size === 0) return undefined;
      wait ??= waits?.begin(UNSEAL_WAIT);
      const failure = await unsealAll({ store, sealed, unseal: target.unseal }, signal);
      if (sealed.size === 0) {
        wait?.end();
        log.info({}, 'All stored values are decrypted');
        return undefined;
      }
      const missing = describeSealed(sealed.keys(), prefix);
      wait?.because(failure === undefined ? missing : `${missing}: ${describeError(failure)}`);
      return clock.now() + UNSEAL_MS;
    },
    stop: () => wait?.end(),
  };
}
