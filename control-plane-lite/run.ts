/** Runs the server as a process: until it is told to stop. */
import { asError } from '#api/kit/clock.ts';
import { createProcessLogger } from '#api/kit/process-logger.ts';
import type { ServerConfig } from './config/settings.ts';
import { startServer } from './main.ts';

export interface RunDeps {
  /** Told how to use the server, once it takes requests. */
  readonly announce: (line: string) => void;
  readonly signal: AbortSignal;
  /** Fires when the end should wait for nobody. */
  readonly hurry: AbortSignal;
}

/** Returns the exit code. */
export async function runServer(config: ServerConfig, deps: RunDeps): Promise<number> {
  const log = createProcessLogger(config.verbosity, { component: 'control-plane-lite' });
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Background work failed unheard');
  });
  try {
    const server = await startServer(config, log);
    deps.announce(
      `control-plane-lite serves ${server.url}; use it with: kubectl --kubeconfig ${server.platconfigFile} get namespaces`,
    );
    try {
      await Promise.race([aborted(deps.signal), server.failed]);
    } finally {
      await server.close(deps.hurry);
    }
    return 0;
  } catch (thrown) {
    log.error({ err: asError(thrown) }, 'Server failed');
    return 1;
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
