/** Time as a dependency: everything that waits or compares times gets a Clock, so that tests can pass a
 *  fake. */
import { asError } from './errno.ts';

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary start. Never jumps; use it for durations. */
  monotonic(): number;
  /** Calls `fire` once after `delayMs` (at once, but not synchronously, when not positive). */
  setTimer(fire: () => void, delayMs: number): Timer;
}

/** Node's longest timer; longer waits are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function systemTimer(fire: () => void, delayMs: number): Timer {
  const endMs = performance.now() + delayMs;
  let handle = setTimeout(onTimeout, Math.min(Math.max(delayMs, 0), MAX_TIMER_MS));
  function onTimeout(): void {
    const leftMs = endMs - performance.now();
    if (leftMs <= 1) fire();
    else handle = setTimeout(onTimeout, Math.min(leftMs, MAX_TIMER_MS));
  }
  return { cancel: () => clearTimeout(handle) };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer: systemTimer,
};

/** Resolves after `delayMs`; rejects with the signal's reason when it fires first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(asError(signal.reason));
    const timer = clock.setTimer(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, delayMs);
    function onAbort(): void {
      timer.cancel();
      reject(asError(signal?.reason));
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Time between two comparisons, in ms. */
const JUMP_CHECK_MS = 2000;
/** Smaller differences are corrections of a clock that runs too fast or too slowly, in ms. */
const TOLERATED_DRIFT_MS = 1000;

/** Calls the listener after each jump of the wall time, in either direction: it was set, or the machine was suspended.
 *  No event of Node reports it, so it is compared with the monotonic time. @returns a function that ends it */
export function onClockJump(clock: Clock, listener: () => void): () => void {
  const offsetMs = (): number => clock.now() - clock.monotonic();
  let knownMs = offsetMs();
  let timer = clock.setTimer(check, JUMP_CHECK_MS);
  function check(): void {
    timer = clock.setTimer(check, JUMP_CHECK_MS);
    const nextMs = offsetMs();
    const hasJumped = Math.abs(nextMs - knownMs) > TOLERATED_DRIFT_MS;
    knownMs = nextMs;
    if (hasJumped) listener();
  }
  return () => timer.cancel();
}

export interface FakeClock extends Clock {
  /** Advances both times and fires due timers in order. Resolves after pending promises had a turn. */
  advance(byMs: number): Promise<void>;
  /** Changes only the wall time, as an administrator or NTP would. */
  jumpWall(byMs: number): void;
}

/** Creates a clock for tests that advances only on demand. */
export function createFakeClock(startMs = 1_700_000_000_000): FakeClock {
  let elapsedMs = 0;
  let wallOffsetMs = startMs;
  const pending = new Set<{ readonly dueMs: number; readonly fire: () => void }>();
  return {
    now: () => wallOffsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    setTimer(fire, delayMs) {
      const entry = { dueMs: elapsedMs + Math.max(delayMs, 0), fire };
      pending.add(entry);
      return { cancel: () => void pending.delete(entry) };
    },
    async advance(byMs) {
      const endMs = elapsedMs + byMs;
      for (;;) {
        const next = [...pending]
          .filter((entry) => entry.dueMs <= endMs)
          .sort((a, b) => a.dueMs - b.dueMs)[0];
        if (next === undefined) break;
        pending.delete(next);
        elapsedMs = next.dueMs;
        next.fire();
        await new Promise((resolve) => setImmediate(resolve));
      }
      elapsedMs = endMs;
      await new Promise((resolve) => setImmediate(resolve));
    },
    jumpWall(byMs) {
      wallOffsetMs += byMs;
    },
  };
}
