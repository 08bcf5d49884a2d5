/** Retries a request until it succeeds or is aborted. */
import { type BackoffPolicy, createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { ServerContact } from '../api-client/server-contact.ts';

export interface RetryDeps {
  readonly clock: Clock;
  readonly contact: ServerContact;
}

/** Backoff of upstream's registration and of its lease, which differ in the first delay. */
export const REGISTER_RETRY: BackoffPolicy = { initialMs: 100, maxMs: 7000, jitter: 0.1 };
export const LEASE_RETRY: BackoffPolicy = { initialMs: 200, maxMs: 7000, jitter: 0.1 };

/** Returns the result of the first attempt that does not throw. Failures are reported to the contact.
 *  @throws the reason of the signal only */
export async function untilDone<T>(
  { clock, contact }: RetryDeps,
  { subject, policy }: { readonly subject: string; readonly policy: BackoffPolicy },
  attempt: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const backoff = createBackoff(policy);
  for (;;) {
    signal.throwIfAborted();
    try {
      const result = await attempt();
      contact.succeeded(subject);
      return result;
    } catch (thrown) {
      signal.throwIfAborted();
      contact.failed(subject, thrown);
      await sleep(clock, backoff.fail(subject, clock.now()), signal);
    }
  }
}
