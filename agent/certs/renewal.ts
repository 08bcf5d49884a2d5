/** Renews a certificate before it ends, again and again. */
import type { X509Certificate } from 'node:crypto';
import { asError } from '#api/kit/clock.ts';
import { createLoop, type Loop } from '#api/kit/loop.ts';
import { type Attempts, type PersistDeps, persist } from './persist.ts';
import { rotationTime, shareOf, validityOf } from './rotation.ts';

export interface RenewalOptions extends Attempts<void> {
  /** Whether nothing can be done just now; whoever changes that wakes the loop. Default: never. */
  readonly isIdle?: () => boolean;
  /** The one there is; `undefined` if one must be had at once. */
  readonly current: () => Promise<X509Certificate | undefined>;
}

/** The clock may have been set, or the machine asleep, so the time is looked at this often, in ms. */
const LOOK_MS = 60 * 60 * 1000;

/** Between two renewals lies at least this, in ms: a signer may give what is to be renewed at once. */
const SETTLE_MS = 30 * 1000;

/** A loop that looks whether the certificate must be renewed when it is woken, and when it is time. */
export function createRenewal(deps: PersistDeps, options: RenewalOptions): Loop {
  const { clock, log } = deps;
  return createLoop({
    clock,
    async step(signal) {
      if (options.isIdle?.() === true) return undefined;
      const certificate = await options.current();
      const dueMs =
        certificate === undefined ? clock.now() : rotationTime(validityOf(certificate), shareOf(certificate));
      if (clock.now() < dueMs) {
        log.debug({ at: new Date(dueMs).toISOString() }, 'Certificate will be renewed');
        return Math.min(dueMs, clock.now() + LOOK_MS);
      }
      await persist(deps, options, signal);
      return clock.now() + SETTLE_MS;
    },
    onError: (error) => log.error({ err: asError(error) }, 'Certificate could not be looked at'),
  });
}
