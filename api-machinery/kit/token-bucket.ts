/** Rate limit that allows short bursts: `burst` tokens, refilled at a steady rate. */
import { type Clock, sleep } from './clock.ts';

export interface TokenBucket {
  /** Takes a token if one is available. */
  tryTake(): boolean;
  /** Resolves when a token has been taken, in order of arrival; rejects with the signal's reason. */
  take(signal?: AbortSignal): Promise<void>;
}

export interface TokenBucketOptions {
  /** Tokens added per second; 0 or less means no limit. */
  readonly ratePerSecond: number;
  /** Tokens available at once after an idle time; at least 1. */
  readonly burst: number;
}

export function createTokenBucket(clock: Clock, options: TokenBucketOptions): TokenBucket {
  const { ratePerSecond } = options;
  const burst = Math.max(1, options.burst);
  if (ratePerSecond <= 0) return { tryTake: () => true, take: () => Promise.resolve() };
  /** May be negative: then future tokens have been promised to waiting takers. */
  let tokens = burst;
  let filledAtMs = clock.monotonic();

  function refill(): void {
    const nowMs = clock.monotonic();
    tokens = Math.min(burst, tokens + ((nowMs - filledAtMs) / 1000) * ratePerSecond);
    filledAtMs = nowMs;
  }

  return {
    tryTake() {
      refill();
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    async take(signal) {
      signal?.throwIfAborted();
      refill();
      tokens -= 1;
      if (tokens >= 0) return;
      try {
        await sleep(clock, (-tokens / ratePerSecond) * 1000, signal);
      } catch (thrown) {
        tokens += 1;
        throw thrown;
      }
    },
  };
}
