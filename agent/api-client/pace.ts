/** The limit of requests to the API server, `--plat-api-qps` and `--plat-api-burst`: one for each client. */
import type { Clock } from '#api/kit/clock.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';

export interface PaceOptions {
  /** Requests per second on average; 0 is the default, less is no limit. */
  readonly qps: number;
  /** Requests at once after a quiet time; 0 is the default. */
  readonly burst: number;
}

/** Upstream's, for settings of 0. */
const DEFAULT: PaceOptions = { qps: 5, burst: 10 };

/** Resolves when the next request may be sent, in order of asking; rejects with the signal's reason. */
export function createPace(
  clock: Clock,
  { qps, burst }: PaceOptions,
): (signal: AbortSignal) => Promise<void> {
  const bucket = createTokenBucket(clock, {
    ratePerSecond: qps === 0 ? DEFAULT.qps : qps,
    burst: burst === 0 ? DEFAULT.burst : burst,
  });
  return (signal) => bucket.take(signal);
}
