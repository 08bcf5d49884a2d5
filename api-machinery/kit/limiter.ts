/** Runs at most `limit` tasks at once; others wait in order of arrival, urgent ones first. */

export interface Limiter {
  /** Runs `task` when a slot is free and returns its result.
   *  Rejects with the signal's reason, without running it, when `signal` fires while waiting. */
  run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Like `run`, but before everything queued by `run`: for work that completes started work. */
  runUrgent<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createLimiter(limit: number): Limiter {
  let running = 0;
  const urgent: (() => void)[] = [];
  const ordinary: (() => void)[] = [];

  async function acquire(waiting: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
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
    const next = urgent.shift() ?? ordinary.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  async function runFrom<T>(
    waiting: (() => void)[],
    task: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    await acquire(waiting, signal);
    try {
      return await task();
    } finally {
      release();
    }
  }

  return {
    run: (task, signal) => runFrom(ordinary, task, signal),
    runUrgent: (task, signal) => runFrom(urgent, task, signal),
  };
}
