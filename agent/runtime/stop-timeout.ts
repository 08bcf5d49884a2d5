/** Grace periods in the form that the runtime accepts. Pure. */
import type { Int64 } from '#api/kit/int64.ts';

/** Some 68 years. Runtimes count in 64-bit nanoseconds and kill immediately on overflow. */
const LONGEST_GRACE_SECONDS = 2 ** 31 - 1;

/** Returns the timeout of StopContainer in whole seconds, at least 0. */
export function stopTimeout(seconds: Int64): bigint {
  if (!(seconds > 0)) return 0n;
  return BigInt(Math.ceil(Math.min(Number(seconds), LONGEST_GRACE_SECONDS)));
}
