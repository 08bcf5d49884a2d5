/** Graceful shutdown of the server: first readiness fails, so that clients send nothing new here; then the
 *  server stops accepting connections, ends its streams and waits for the requests in flight. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface ShutdownDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Fails readiness. */
  beginShutdown(): void;
  /** Stops the server. */
  close(options: { readonly drainMs: number; readonly hurry?: AbortSignal }): Promise<void>;
}

export interface ShutdownOptions {
  /** `--shutdown-delay-duration`: delay between failing readiness and closing the listener, in ms. Default 0. */
  readonly delayMs?: number;
  /** Timeout for requests in flight, in ms. Default 60 s. */
  readonly drainMs?: number;
}

/** Resolves once no request is left. A `hurry` signal skips the delay and the wait for requests, whenever it
 *  fires. */
export async function shutDown(
  deps: ShutdownDeps,
  options: ShutdownOptions = {},
  hurry?: AbortSignal,
): Promise<void> {
  const { delayMs = 0, drainMs = 60_000 } = options;
  deps.beginShutdown();
  deps.log.info({ delayMs, drainMs }, 'Shutdown started');
  try {
    if (delayMs > 0) await sleep(deps.clock, delayMs, hurry);
  } catch (error) {
    if (hurry?.aborted !== true) throw error;
  }
  await deps.close({ drainMs, ...(hurry === undefined ? {} : { hurry }) });
  deps.log.info({}, 'Shutdown completed');
}
