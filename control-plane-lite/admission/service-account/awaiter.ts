/** Waits for objects that are about to be created. */
import type { Clock } from '#api/kit/clock.ts';
import { createListeners, type Listeners } from '#api/kit/listeners.ts';
import type { CachedObject } from '../../cache/contract.ts';
import type { ObjectSource } from '../deps.ts';

export interface Awaiter {
  /** The object once it is there; `undefined` after the time. */
  wait(key: string, timeoutMs: number): Promise<CachedObject | undefined>;
}

export function createAwaiter({
  source,
  clock,
}: {
  readonly source: Pick<ObjectSource, 'get' | 'follow'>;
  readonly clock: Pick<Clock, 'setTimer'>;
}): Awaiter {
  const waiting = new Map<string, Listeners<[found: CachedObject | undefined]>>();
  source.follow(({ type, current }) => {
    if (type === 'DELETED' || waiting.size === 0) return;
    waiting.get(current.key)?.notify(current);
  });
  return {
    wait(key, timeoutMs) {
      const known = source.get(key);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        const waiters = waiting.get(key) ?? createListeners('awaited object');
        waiting.set(key, waiters);
        const notify = (found: CachedObject | undefined): void => {
          timer.cancel();
          waiters.delete(notify);
          if (waiters.size === 0) waiting.delete(key);
          resolve(found);
        };
        const timer = clock.setTimer(() => notify(undefined), timeoutMs);
        waiters.add(notify);
      });
    },
  };
}
