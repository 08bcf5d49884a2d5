/** Handlers for unhandled failures of background work. */
import { asError } from '#api/kit/errno.ts';
import { logListenerFailures } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';

/** Logs throwing listeners and unhandled rejections, which would terminate Node: a failure for one pod must
 *  not affect the others. An uncaught exception still terminates the agent, as its state may be inconsistent.
 */
export function outliveRejections(log: Logger): void {
  logListenerFailures(log);
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Unhandled promise rejection');
  });
}
