/** Runs the server as a process: until it is told to stop. */
import { asError } from '#api/kit/clock.ts';
import { logListenerFailures } from '#api/kit/listeners.ts';
import { createProcessLogger } from '#api/kit/process-logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { configWarnings } from './config/parse.ts';
import type { ServerConfig } from './config/settings.ts';
import { startServer } from './main.ts';
import { startFault } from './start-fault.ts';

export interface RunDeps {
  /** Told how to use the server, once it takes requests. */
  readonly announce: (line: string) => void;
  /** Told why the server did not start. */
  readonly complain: (line: string) => void;
  readonly signal: AbortSignal;
  /** Fires when the end should wait for nobody. */
  readonly hurry: AbortSignal;
}

/** What stock clients have built in with the other domain; what they look up in discovery works. */
const PLAT_NOTICE: string = [
  `API groups end in ${VOCABULARIES.plat.apiGroupDomain} (--vocabulary plat): with stock kubectl these do not work: auth can-i, auth reconcile,`,
  'certificate, top, create token, create role, rolebinding, clusterrole, clusterrolebinding, ingress, priorityclass,',
  `and manifests with groups that end in ${VOCABULARIES.kubernetes.apiGroupDomain}. --vocabulary kubernetes on a new --data-dir serves all of kubectl.`,
].join('\n  ');

class NotStartedError extends Error {
  override readonly name = 'NotStartedError';
  override readonly cause: Error;
  constructor(cause: Error) {
    super('the server did not start');
    this.cause = cause;
  }
}

/** Returns the exit code. */
export async function runServer(config: ServerConfig, deps: RunDeps): Promise<number> {
  const log = createProcessLogger(config.verbosity, { component: 'control-plane-lite' });
  logListenerFailures(log);
  for (const warning of configWarnings(config)) log.warn({}, warning);
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Background work failed unheard');
  });
  try {
    const starting = startServer(config, log).catch((thrown: unknown) => {
      throw new NotStartedError(asError(thrown));
    });
    const server = await Promise.race([starting, aborted(deps.signal)]);
    // A store that cannot be reached is waited for; whoever does not want to wait need not. The process ends, and
    // with it all that was begun.
    if (server === undefined) return 0;
    await Promise.race([server.ready, server.failed, aborted(deps.signal)]);
    deps.announce(
      `control-plane-lite serves ${server.url}; use it with: kubectl --kubeconfig ${server.platconfigFile} get namespaces`,
    );
    if (config.vocabulary === 'plat') deps.announce(PLAT_NOTICE);
    try {
      await Promise.race([aborted(deps.signal), server.failed]);
    } finally {
      await server.close(deps.hurry);
    }
    return 0;
  } catch (thrown) {
    if (thrown instanceof NotStartedError) {
      log.debug({ err: thrown.cause }, 'Server did not start');
      deps.complain(`control-plane-lite: ${startFault(thrown.cause, config)}`);
      return 1;
    }
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
