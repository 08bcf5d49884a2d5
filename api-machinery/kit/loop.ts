/** A serial loop that runs a step whenever it is woken, never two at once, and stops on abort.
 *  Wakes during a step cause exactly one more step, which sees the newest state. */
import type { Clock, Timer } from './clock.ts';
import { asError } from './errno.ts';

export interface Loop {
  /** Requests a step as soon as possible. Cheap, may be called from anywhere. */
  wake(): void;
  /** Requests a step at `atMs` (clock.now) at the latest; an earlier request stays in force. */
  wakeAt(atMs: number): void;
  /** Runs until `signal` fires and the step in flight has finished. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

export interface LoopOptions {
  readonly clock: Clock;
  /** One step. It may return the wall time (ms) at which it wants to run again. */
  readonly step: (signal: AbortSignal) => Promise<number | undefined>;
  /** Called with the error of a step that threw; the loop continues and retries after `retryMs`. */
  readonly onError: (error: Error) => void;
  /** Delay after a failed step, in ms; 1000 by default. */
  readonly retryMs?: number;
}

export function createLoop(options: LoopOptions): Loop {
  const { clock, step, onError, retryMs = 1000 } = options;
  let dirty = false;
  let notify: (() => void) | undefined;
  let timer: Timer | undefined;
  /** Monotonic: the wall clock may be set while the timer runs. */
  let timerDueMs = Number.POSITIVE_INFINITY;

  function wake(): void {
    dirty = true;
    notify?.();
  }

  function wakeAt(atMs: number): void {
    const delayMs = atMs - clock.now();
    const dueMs = clock.monotonic() + delayMs;
    if (dueMs >= timerDueMs) return;
    timer?.cancel();
    timerDueMs = dueMs;
    timer = clock.setTimer(() => {
      timerDueMs = Number.POSITIVE_INFINITY;
      wake();
    }, delayMs);
  }

  async function runStep(signal: AbortSignal): Promise<void> {
    try {
      const nextMs = await step(signal);
      if (nextMs !== undefined && !signal.aborted) wakeAt(nextMs);
    } catch (thrown) {
      if (signal.aborted) return;
      onError(asError(thrown));
      wakeAt(clock.now() + retryMs);
    }
  }

  return {
    wake,
    wakeAt,
    async run(signal) {
      const onAbort = (): void => notify?.();
      signal.addEventListener('abort', onAbort);
      while (!signal.aborted) {
        if (dirty) {
          dirty = false;
          await runStep(signal);
        } else {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
          notify = undefined;
        }
      }
      signal.removeEventListener('abort', onAbort);
      timer?.cancel();
    },
  };
}
