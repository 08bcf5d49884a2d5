/** Renews a certificate before it expires. */
import type { X509Certificate } from 'node:crypto';
import { onClockJump } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLoop, type Loop } from '#api/kit/loop.ts';
import { type Attempts, type PersistDeps, persist } from './persist.ts';
import { rotationTime, shareOf, validityOf } from './rotation.ts';

export interface RenewalOptions extends Attempts<void> {
  /** Reports whether renewal is currently impossible; the loop is woken when that changes. Default: never. */
  readonly isIdle?: () => boolean;
  /** Returns the current certificate; `undefined` if one is required at once. */
  readonly current: () => Promise<X509Certificate | undefined>;
}

/** Minimum time between renewals, in ms: a signer may issue certificates that are already due. */
const SETTLE_MS = 30 * 1000;

/** Creates a loop that checks for renewal when it is woken, when renewal is due, and after the clock was set. */
export function createRenewal(deps: PersistDeps, options: RenewalOptions): Loop {
  const { clock, log } = deps;
  const loop = createLoop({
    clock,
    async step(signal) {
      if (options.isIdle?.() === true) return undefined;
      const certificate = await options.current();
      const dueMs =
        certificate === undefined ? clock.now() : rotationTime(validityOf(certificate), shareOf(certificate));
      if (clock.now() < dueMs) {
        log.debug({ at: new Date(dueMs).toISOString() }, 'Certificate renewal scheduled');
        return dueMs;
      }
      await persist(deps, options, signal);
      return clock.now() + SETTLE_MS;
    },
    onError: (error) => log.error({ err: asError(error) }, 'Failed to check certificate'),
  });
  return {
    ...loop,
    async run(signal) {
      const end = onClockJump(clock, () => loop.wake());
      try {
        await loop.run(signal);
      } finally {
        end();
      }
    },
  };
}
