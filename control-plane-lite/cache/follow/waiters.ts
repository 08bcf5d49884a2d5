/** Waiters for revisions of the cache. */
import type { Timer } from '#api/kit/clock.ts';
import { createTransientSet } from '#api/kit/transient.ts';
import { CacheError } from '../contract.ts';

export interface Waiters {
  /** Resolves once `reached` was called with the revision. @throws CacheError `future` after the timeout */
  wait(revision: number, timeoutMs: number): Promise<void>;
  /** Everything up to the revision has been applied. */
  reached(revision: number): void;
}

export interface WaitersDeps {
  readonly setTimer: (fire: () => void, delayMs: number) => Timer;
  readonly newest: () => number;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: () => void;
  readonly timer: Timer;
}

export function createWaiters(deps: WaitersDeps): Waiters {
  const waiting = createTransientSet<Waiter>();
  return {
    wait(revision, timeoutMs) {
      if (revision <= deps.newest()) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const timer = deps.setTimer(() => {
          waiting.delete(waiter);
          const text = `Too large resource version: ${revision}, current: ${deps.newest()}`;
          reject(new CacheError('future', text, deps.newest()));
        }, timeoutMs);
        const waiter: Waiter = { revision, resolve, timer };
        waiting.add(waiter);
      });
    },
    reached(revision) {
      for (const waiter of waiting.values()) {
        if (waiter.revision > revision) continue;
        waiting.delete(waiter);
        waiter.timer.cancel();
        waiter.resolve();
      }
    },
  };
}
