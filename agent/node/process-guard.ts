/** The last net under work that nobody waits for. */
import { asError } from '#api/kit/clock.ts';
import { logListenerFailures } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';

/** Logs listeners that throw, and a promise that failed unheard, where Node would end the process: what went wrong for one pod must not hold
 *  up the others. A thrown error that nobody caught still ends the agent: its state may be half changed. */
export function outliveRejections(log: Logger): void {
  logListenerFailures(log);
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Background work failed unheard');
  });
}
