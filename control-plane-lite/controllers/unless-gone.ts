/** Controllers act on what they saw; that it is gone by now is no failure. */
import { StatusError } from '#api/meta/status-error.ts';

export async function unlessGone(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!(thrown instanceof StatusError && thrown.reason === 'NotFound')) throw thrown;
  }
}
