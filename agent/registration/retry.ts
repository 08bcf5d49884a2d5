/** Trying a request again until it succeeds or is no longer wanted. */
import { type BackoffPolicy, createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { ServerContact } from '../api-client/server-contact.ts';

export interface RetryDeps {
  readonly clock: Clock;
  readonly contact: ServerContact;
}

/** Delays of upstream's registration and of its lease, whose first differs. */
export const REGISTER_RETRY: BackoffPolicy = { initialMs: 100, maxMs: 7000, jitter: 0.1 };
export const LEASE_RETRY: BackoffPolicy = { initialMs: 200, maxMs: 7000, jitter: 0.1 };

/** The result of the first try that does not throw. Failures are noted with the contact.
 *  @throws the signal's reason only */
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
