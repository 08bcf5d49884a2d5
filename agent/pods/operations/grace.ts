/** Grace periods as the runtime is told them. Pure. */

/** Some 68 years. Runtimes count in nanoseconds of 64 bits: for more seconds than fit they kill at once. */
const LONGEST_GRACE_SECONDS = 2 ** 31 - 1;

/** The timeout of StopContainer, in whole seconds from 0 on. */
export function stopTimeout(seconds: number): bigint {
  if (!(seconds > 0)) return 0n;
  return BigInt(Math.ceil(Math.min(seconds, LONGEST_GRACE_SECONDS)));
}
