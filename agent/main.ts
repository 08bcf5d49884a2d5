/** The composition root of the daemon: configuration in, parts wired (`wiring/`), running until told to stop. */
import { asError, type Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createProcessLogger } from '#api/kit/process-logger.ts';
import type { AgentConfig } from './config/gen/config.ts';
import type { Origins } from './config/origin.ts';
import { nodeName } from './node/node-facts.ts';
import { outliveRejections } from './node/process-guard.ts';
import { applyProcessLimits } from './node/process-limits.ts';
import { lockRoot, RootLockedError } from './node/root-lock.ts';
import { openDatagramSender } from './systemd/datagram.ts';
import { createSystemdNotifier, parseNotifyEnvironment } from './systemd/notify.ts';
import { AGENT_VERSION } from './version.ts';
import { runAll } from './wiring/background.ts';
import { createBase } from './wiring/base.ts';
import { createPodSide } from './wiring/pod-side.ts';
import { createRuntimeSide } from './wiring/runtime-side.ts';
import { startServers } from './wiring/servers.ts';

export interface RunExtras {
  /** Deprecated flags and the like, each told once. */
  readonly warnings: readonly string[];
  /** Where each setting comes from. */
  readonly origins: Origins;
}

/** Time for what is under way to come to rest after the signal, in ms. Most of what the runtime has begun ends
 *  within it, and is noted; the rest goes on without this agent, and the next one finds it. */
const DRAIN_MS = 400;

/** Runs the agent until SIGTERM or SIGINT. Returns the exit code. */
export async function runAgent(config: AgentConfig, extras: RunExtras): Promise<number> {
  const node = nodeName(config.hostnameOverride);
  const log = createProcessLogger(config.logging.verbosity, { node });
  outliveRejections(log);
  for (const warning of extras.warnings) log.warn({}, warning);
  try {
    await using lock = await lockRoot(config.rootDir);
    log.debug({ fd: lock.fd }, 'Root directory was locked');
    await runLocked(config, extras.origins, node, log);
    return 0;
  } catch (thrown) {
    const err = asError(thrown);
    log.error({ err }, err instanceof RootLockedError ? 'Agent was not started' : 'Agent failed');
    return 1;
  }
}

async function runLocked(config: AgentConfig, origins: Origins, node: string, log: Logger): Promise<void> {
  const stop = stopSignal(log);
  await applyProcessLimits(config, log);
  const base = await createBase(config, origins, node, log);
  const runtimeSide = await createRuntimeSide(base);
  // Loaded by an agent that has an API server alone.
  const apiSide = isJoined(config)
    ? await (await import('./wiring/api-side.ts')).createApiSide(base, runtimeSide, stop)
    : undefined;
  const podSide = await createPodSide(base, runtimeSide, apiSide?.parts);
  const servers = await startServers(base, runtimeSide, podSide, apiSide?.access);
  const notifier = await createSystemdNotifier(
    { clock: base.clock, log, openSender: openDatagramSender },
    parseNotifyEnvironment(process.env, process.pid),
  );
  notifier.ready(`Node ${node} is up`);
  log.info({ version: AGENT_VERSION, instance: base.settings.owner.instance }, 'Agent started');
  const work = Promise.all([runAll(base, runtimeSide, podSide, stop), apiSide?.run(podSide, stop)]);
  const watchdog = notifier.runWatchdog(stop);
  // Work that ends with a fault ends the agent, to be started again; its pods run on.
  await Promise.race([aborted(stop), work]);
  notifier.stopping('Stopping; pods keep running');
  podSide.probes.stop();
  await within(
    base.clock,
    DRAIN_MS,
    Promise.all([work, watchdog, podSide.manager.stopped(), podSide.execs.setUp()]),
  );
  await Promise.all(servers.map((server) => server.close()));
  await apiSide?.[Symbol.asyncDispose]();
  runtimeSide.connection.close();
  runtimeSide.imageConnection.close();
  log.info({}, 'Agent stopped; pods keep running');
}

const isJoined = ({ platconfig, bootstrapKubeconfig }: AgentConfig): boolean =>
  platconfig !== '' || bootstrapKubeconfig !== '';

function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    log.info({ signal: name }, 'Agent was told to stop');
    stop.abort(new Error('agent is stopping'));
  };
  process.once('SIGTERM', onSignal);
  process.once('SIGINT', onSignal);
  return stop.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Waits for the work, but no longer than that. Leaves no timer behind that would keep the process alive. */
async function within(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = clock.setTimer(limit.resolve, limitMs);
  await Promise.race([work, limit.promise]);
  timer.cancel();
}
