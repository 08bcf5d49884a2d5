/** At most `limit` tasks at once; the rest wait in order of arrival. */

export interface Limiter {
  /** Runs `task` when a place is free and returns its result.
   *  Rejects with the signal's reason, without running it, when `signal` fires while waiting. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createLimiter(limit: number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];

  async function acquire(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (running < limit) {
      running += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const grant = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      function onAbort(): void {
        waiting.splice(waiting.indexOf(grant), 1);
        reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted while waiting'));
      }
      waiting.push(grant);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  function release(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  return {
    async run(task, signal) {
      await acquire(signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
