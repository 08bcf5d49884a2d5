/** Runs the server as a process until it is signalled to stop. */

import { systemClock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { logListenerFailures } from '#api/kit/listeners.ts';
import { createProcessLogger } from '#api/kit/logging/process-logger.ts';
import { openDatagramSender } from '#api/kit/systemd/datagram.ts';
import { openJournal } from '#api/kit/systemd/journal.ts';
import { createSystemdNotifier, parseNotifyEnvironment } from '#api/kit/systemd/notify.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startError } from './commands/start-error.ts';
import { configWarnings } from './config/parse.ts';
import type { ServerConfig } from './config/settings.ts';
import { startServer } from './main.ts';

export interface RunDeps {
  /** Prints how to use the server, once it accepts requests. */
  readonly announce: (line: string) => void;
  /** Prints why the server failed to start. */
  readonly complain: (line: string) => void;
  readonly signal: AbortSignal;
  /** Fires when the stop should be immediate. */
  readonly hurry: AbortSignal;
}

/** Commands of upstream clients with built-in API groups; those that use discovery work. */
const PLAT_NOTICE: string = [
  `API groups end in ${VOCABULARIES.plat.apiGroupDomain} (--vocabulary plat): with upstream kubectl these do not work: auth can-i, auth reconcile,`,
  'certificate, top, create token, create role, rolebinding, clusterrole, clusterrolebinding, ingress, priorityclass,',
  `and manifests with groups that end in ${VOCABULARIES.kubernetes.apiGroupDomain}. --vocabulary kubernetes on a new --data-dir serves all of kubectl.`,
].join('\n  ');

class NotStartedError extends Error {
  override readonly name = 'NotStartedError';
  override readonly cause: Error;
  constructor(cause: Error) {
    super('the server failed to start');
    this.cause = cause;
  }
}

/** Returns the exit code. */
export async function runServer(config: ServerConfig, deps: RunDeps): Promise<number> {
  const send = await openJournal(process.env, openDatagramSender);
  const log = createProcessLogger(config.verbosity, { component: 'control-plane-lite' }, undefined, {
    journal: send && { identifier: 'control-plane-lite', send },
  });
  const notifier = await createSystemdNotifier(
    { clock: systemClock, log, openSender: openDatagramSender },
    parseNotifyEnvironment(process.env, process.pid),
  );
  logListenerFailures(log);
  for (const warning of configWarnings(config)) log.warn({}, warning);
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Unhandled promise rejection');
  });
  try {
    const starting = startServer(config, log).catch((thrown: unknown) => {
      throw new NotStartedError(asError(thrown));
    });
    const server = await Promise.race([starting, aborted(deps.signal)]);
    // An unreachable store is waited for until the user stops the process, which ends everything started so
    // far.
    if (server === undefined) return 0;
    await Promise.race([server.ready, server.failed, aborted(deps.signal)]);
    deps.announce(
      `control-plane-lite serves ${server.url}; use it with: kubectl --kubeconfig ${server.platconfigFile} get namespaces`,
    );
    if (config.vocabulary === 'plat') deps.announce(PLAT_NOTICE);
    notifier.ready(`Serves ${server.url}`);
    void notifier.runWatchdog(deps.signal);
    try {
      await Promise.race([aborted(deps.signal), server.failed]);
    } finally {
      notifier.stopping('Stopping: completing requests');
      await server.close(deps.hurry);
    }
    return 0;
  } catch (thrown) {
    if (thrown instanceof NotStartedError) {
      log.debug({ err: thrown.cause }, 'Failed to start server');
      deps.complain(`control-plane-lite: ${startError(thrown.cause, config)}`);
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
