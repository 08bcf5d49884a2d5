/** Exponential backoff per key. Holds times only; the caller sleeps. */

export interface BackoffPolicy {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Multiplier per failure; 2 unless given. */
  readonly factor?: number;
  /** Forget a key's failures when its last one is older than this; twice `maxMs` unless given. */
  readonly resetAfterMs?: number;
  /** Share of the delay added at random, 0 to 1; 0 unless given. */
  readonly jitter?: number;
}

export interface Backoff {
  /** Notes a failure at `nowMs` and returns the delay before the next try, in ms. */
  fail(key: string, nowMs: number): number;
  /** The delay the last `fail` gave, or 0 when the key has none or it was reset by age. */
  current(key: string, nowMs: number): number;
  /** Time at which the key may be tried again; 0 when it may be tried at once. */
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
    // A failure that is to come was noted before the clock was set back.
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
