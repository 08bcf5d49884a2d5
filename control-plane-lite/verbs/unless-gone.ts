/** Tolerates NotFound: controllers act on cached objects that may already be gone. */
import { StatusError } from '#api/meta/status-error.ts';

export async function unlessGone(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
  }
}
