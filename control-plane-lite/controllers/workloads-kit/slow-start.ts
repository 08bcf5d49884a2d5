/** Slow start: creates objects in batches of one, two, four and so on, so that a persistent error occurs once
 *  and not a thousand times. Source: upstream's slow start batches. */
import { asError } from '#api/kit/errno.ts';

export interface SlowStart {
  readonly succeeded: number;
  /** The first failure; no later batch was started. */
  readonly error?: Error;
}

/** Calls `make` with 0 to `count` - 1, at most `largest` at a time. */
export async function slowStart(
  count: number,
  make: (index: number) => Promise<unknown>,
  largest = 128,
): Promise<SlowStart> {
  let begun = 0;
  let succeeded = 0;
  for (let size = 1; begun < count; size = Math.min(size * 2, largest)) {
    const batch = Math.min(size, count - begun);
    const first = begun;
    begun += batch;
    const results = await Promise.allSettled(
      Array.from({ length: batch }, (_, offset) => make(first + offset)),
    );
    succeeded += results.filter(({ status }) => status === 'fulfilled').length;
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) return { succeeded, error: asError(failure.reason) };
  }
  return { succeeded };
}
