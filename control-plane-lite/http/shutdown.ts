/** The orderly end of the server: first it says that it isn't ready, so that nothing new is sent here; then it takes
 *  no more connections, ends its streams and waits for the requests under way. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface ShutdownDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes readiness fail. */
  beginShutdown(): void;
  /** Ends the server. */
  close(options: { readonly drainMs: number; readonly hurry?: AbortSignal }): Promise<void>;
}

export interface ShutdownOptions {
  /** `--shutdown-delay-duration`: between failing readiness and taking no more connections. Default 0. */
  readonly delayMs?: number;
  /** For requests under way. Default 60 s. */
  readonly drainMs?: number;
}

/** Resolves when no request is left. A `hurry` signal ends the delay and the waiting for requests, whenever it fires. */
export async function shutDown(
  deps: ShutdownDeps,
  options: ShutdownOptions = {},
  hurry?: AbortSignal,
): Promise<void> {
  const { delayMs = 0, drainMs = 60_000 } = options;
  deps.beginShutdown();
  deps.log.info({ delayMs, drainMs }, 'Shutdown begun');
  try {
    if (delayMs > 0) await sleep(deps.clock, delayMs, hurry);
  } catch (error) {
    if (hurry?.aborted !== true) throw error;
  }
  await deps.close({ drainMs, ...(hurry === undefined ? {} : { hurry }) });
  deps.log.info({}, 'Shutdown completed');
}
