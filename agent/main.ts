/** Composition root of the daemon: wires the parts (`wiring/`) from the configuration and runs them until a
 *  stop signal. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ProcessLogger } from '#api/kit/logging/process-logger.ts';
import { openDatagramSender } from '#api/kit/systemd/datagram.ts';
import { openJournal } from '#api/kit/systemd/journal.ts';
import { createSystemdNotifier, parseNotifyEnvironment } from '#api/kit/systemd/notify.ts';
import type { AgentConfig } from './config/gen/config.ts';
import type { Origins } from './config/origin.ts';
import { keepKernelDefaults } from './node/kernel-defaults.ts';
import { acquireLockFile } from './node/lock/lock-file.ts';
import { lockRoot, RootLockedError } from './node/lock/root-lock.ts';
import { createAgentLog } from './node/log/agent-log.ts';
import { nodeName } from './node/node-facts.ts';
import { outliveRejections } from './node/process-guard.ts';
import { applyProcessLimits } from './node/process-limits.ts';
import { rootDirError, StartError } from './node/start-fault.ts';
import { refuseSwap } from './node/swap.ts';
import { showInstance } from './runtime/lost-sandboxes.ts';
import { reportToSystemd } from './systemd/report.ts';
import { AGENT_VERSION } from './version.ts';
import { createBase } from './wiring/base.ts';
import { runParts } from './wiring/parts.ts';
import { RunOnceError, runOnce, standalone } from './wiring/run-once.ts';
import { createRuntimeSubsystem } from './wiring/runtime.ts';

export interface RunExtras {
  /** Warnings such as deprecated flags, each logged once. */
  readonly warnings: readonly string[];
  /** Origin of each setting. */
  readonly origins: Origins;
}

/** Runs the agent until SIGTERM or SIGINT. Returns the exit code. */
export async function runAgent(given: AgentConfig, extras: RunExtras): Promise<number> {
  const config = given.runOnce ? standalone(given) : given;
  const node = nodeName(config.hostnameOverride);
  const log = await openLog(config, node);
  if (log === undefined) return 1;
  outliveRejections(log);
  for (const warning of extras.warnings) log.warn({}, warning);
  const { signal: stop, contended } = stopSignal(log);
  try {
    await using held = new AsyncDisposableStack();
    held.use(await acquireLockFile(config, log, stop, contended));
    await using lock = await lockRoot(config.rootDir).catch((thrown: unknown) => {
      throw rootDirError(asError(thrown), config.rootDir, process.getuid?.());
    });
    log.debug({ fd: lock.fd }, 'Root directory locked');
    await runLocked(config, extras.origins, node, log, stop);
    return 0;
  } catch (thrown) {
    const err = asError(thrown);
    if (stop.aborted && thrown === stop.reason) return 0;
    if (err instanceof RunOnceError) {
      log.error({ reason: err.message }, 'Failed to start pods once');
      return 1;
    }
    if (err instanceof RootLockedError || err instanceof StartError) {
      log.debug({ err }, 'Cause of the failed start');
      log.error({ reason: err.message }, 'Failed to start agent');
    } else log.error({ err }, 'Agent failed');
    return 1;
  }
}

/** Returns undefined, with an error on standard error, if the log file cannot be opened. */
async function openLog(config: AgentConfig, node: string): Promise<ProcessLogger | undefined> {
  try {
    return createAgentLog(config, { node }, await openJournal(process.env, openDatagramSender));
  } catch (thrown) {
    process.stderr.write(`nodeagent: log was not opened: ${asError(thrown).message}\n`);
    return undefined;
  }
}

async function runLocked(
  config: AgentConfig,
  origins: Origins,
  node: string,
  log: ProcessLogger,
  stop: AbortSignal,
): Promise<void> {
  await refuseSwap(config);
  const isProtected = config.protectKernelDefaults;
  await keepKernelDefaults({ isProtected, sets: config.platconfig !== '' }, log);
  await applyProcessLimits(config, log);
  const base = await createBase(config, origins, node, log);
  await using held = new AsyncDisposableStack();
  held.defer(() => base.waits.close());
  held.use(await showInstance(base.settings.owner.instance, log));
  const runtimeSubsystem = await createRuntimeSubsystem(base);
  if (config.runOnce) return await runOnce(base, runtimeSubsystem, stop);
  await runParts(base, runtimeSubsystem, stop, async () => {
    const notifier = await createSystemdNotifier(
      { clock: base.clock, log, openSender: openDatagramSender },
      parseNotifyEnvironment(process.env, process.pid),
    );
    const reporting = { notifier, clock: base.clock, waits: base.waits, canRun: base.canRun.promise, node };
    const report = reportToSystemd(reporting, stop);
    log.info({ version: AGENT_VERSION, instance: base.settings.owner.instance }, 'Agent started');
    return {
      until: Promise.all([notifier.runWatchdog(stop), report]),
      stopping: () => notifier.stopping('Stopping; pods keep running'),
    };
  });
  log.info({}, 'Agent stopped; pods keep running');
}

interface StopSignal {
  readonly signal: AbortSignal;
  /** Stops the agent because another process requests its lock file. */
  readonly contended: () => void;
}

function stopSignal(log: Logger): StopSignal {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    log.info({ signal: name }, 'Stop signal received');
    stop.abort(new Error('agent is stopping'));
  };
  process.once('SIGTERM', onSignal);
  process.once('SIGINT', onSignal);
  return {
    signal: stop.signal,
    contended() {
      log.info({}, 'Lock file requested by another process; stopping');
      stop.abort(new Error('agent is stopping'));
    },
  };
}
