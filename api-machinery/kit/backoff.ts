/** Exponential backoff per key. Stores times only; the caller sleeps. */

export interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Multiplier per failure; 2 by default. */
  readonly factor?: number;
  /** A key's failures are forgotten when its last one is older than this; twice `maxMs` by default. */
  readonly resetAfterMs?: number;
  /** Share of the delay added at random, 0 to 1; 0 by default. */
  readonly jitter?: number;
}

export interface Backoff {
  /** Records a failure at `nowMs` and returns the delay before the next attempt, in ms. */
  fail(key: string, nowMs: number): number;
  /** Returns the delay of the last `fail`, or 0 when the key has none or it was reset by age. */
  current(key: string, nowMs: number): number;
  /** Returns the time at which the key may be retried; 0 when it may be retried at once. */
  readyAt(key: string, nowMs: number): number;
  /** Forgets the key, after a success. */
  reset(key: string): void;
}

interface Entry {
  readonly delayMs: number;
  readonly failedAtMs: number;
}

export function createBackoff(policy: BackoffPolicy, random: () => number = Math.random): Backoff {
  const { initialMs, maxMs, factor = 2, jitter = 0 } = policy;
  const resetAfterMs = policy.resetAfterMs ?? 2 * maxMs;
  const entries = new Map<string, Entry>();

  function live(key: string, nowMs: number): Entry | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    // A failure in the future means that the clock was set back since.
    const ageMs = nowMs - entry.failedAtMs;
    if (ageMs >= 0 && ageMs <= resetAfterMs) return entry;
    entries.delete(key);
    return undefined;
  }

  return {
    fail(key, nowMs) {
      const previous = live(key, nowMs);
      const baseMs = previous === undefined ? initialMs : Math.min(previous.delayMs * factor, maxMs);
      entries.set(key, { delayMs: baseMs, failedAtMs: nowMs });
      return baseMs * (1 + jitter * random());
    },
    current: (key, nowMs) => live(key, nowMs)?.delayMs ?? 0,
    readyAt(key, nowMs) {
      const entry = live(key, nowMs);
      return entry === undefined ? 0 : entry.failedAtMs + entry.delayMs;
    },
    reset: (key) => void entries.delete(key),
  };
}
