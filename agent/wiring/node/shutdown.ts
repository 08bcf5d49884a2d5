/** Wires graceful node shutdown. Loads nothing without a configured period. */
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import { priorityOf } from '../../admission/resource-fit.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { isAlive } from '../../pods/decide/containers.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import { type ShutdownPeriod, shutdownPeriods } from '../../shutdown/decide.ts';
import { shutdownEvent, TERMINATED } from '../../shutdown/ended-pods.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

type Manager = PodSubsystem['manager'];
type View = RuntimeSubsystem['view'];

function periodsOf(config: AgentConfig): readonly ShutdownPeriod[] {
  if (!featureEnabled(config, 'GracefulNodeShutdown')) return [];
  const byPriority = featureEnabled(config, 'GracefulNodeShutdownBasedOnPodPriority')
    ? config.shutdownGracePeriodByPodPriority.map(({ priority, shutdownGracePeriodSeconds }) => ({
        priority,
        seconds: Number(shutdownGracePeriodSeconds),
      }))
    : [];
  const { shutdownGracePeriod: graceMs, shutdownGracePeriodCriticalPods: criticalGraceMs } = config;
  return shutdownPeriods({ graceMs, criticalGraceMs, byPriority });
}

/** Resolves when no container of the pod is running; rejects with the signal's reason. */
function whenStill(view: View, podUID: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let unsubscribe: () => void = () => undefined;
    const check = (): void => {
      if (view.pod(podUID).containers.some(isAlive)) return;
      unsubscribe();
      resolve();
    };
    unsubscribe = view.onPodChange(podUID, check);
    signal.addEventListener(
      'abort',
      () => {
        unsubscribe();
        reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
      },
      { once: true },
    );
    check();
  });
}

async function endPod(
  { manager, view }: { readonly manager: Manager; readonly view: View },
  pod: Pod,
  gracePeriodSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const podUID = pod.metadata?.uid ?? '';
  const worker = manager.workers().find((one) => one.pod.metadata?.uid === podUID);
  await worker?.finish({ ...TERMINATED, gracePeriodSeconds });
  await whenStill(view, podUID, signal);
}

/** Restarts static pods on a machine that did not shut down after all. */
function renewPods(manager: Manager): void {
  for (const { pod, origin, end } of manager.entries()) {
    const isOurs = end?.reason === TERMINATED.reason && end.message === TERMINATED.message;
    if (origin.source !== 'api' && isOurs) manager.restart(pod.metadata?.uid ?? '');
  }
}

/** Runs until the signal fires. Never rejects. */
export async function runShutdownSubsystem(
  base: Base,
  { view }: Pick<RuntimeSubsystem, 'view'>,
  { manager }: Pick<PodSubsystem, 'manager'>,
  stop: AbortSignal,
): Promise<void> {
  const { config, clock, vocabulary } = base;
  const periods = periodsOf(config);
  if (periods.length === 0) return;
  const log = base.log.child({ component: 'shutdown' });
  const agentName = vocabulary.agentComponent;
  const [
    { connectBus },
    { createLogind },
    { inhibitShutdown },
    { runShutdownManager },
    { createShutdownTimes, SHUTDOWN_STATE },
    { createStateFile },
  ] = await Promise.all([
    import('../../dbus/system-bus.ts'),
    import('../../shutdown/logind.ts'),
    import('../../shutdown/inhibitor.ts'),
    import('../../shutdown/manager.ts'),
    import('../../shutdown/times.ts'),
    import('../../resources/state/state-file.ts'),
  ]);
  const file = createStateFile(join(config.rootDir, SHUTDOWN_STATE));
  const times = createShutdownTimes({ clock, log, registry: base.metrics, file });
  await times.load();
  const event = createNodeEventSink(base.events, base.node);
  const deps = {
    clock,
    log,
    async connect() {
      const bus = await connectBus();
      return {
        logind: createLogind(clock, bus, { agentName }),
        closed: bus.closed,
        close: () => bus.close(),
      };
    },
    inhibit: () => inhibitShutdown(agentName),
    pods: () => manager.entries().flatMap(({ pod, end }) => (end === undefined ? [pod] : [])),
    priorityOf,
    end: (pod: Pod, graceSeconds: number, signal: AbortSignal) =>
      endPod({ manager, view }, pod, graceSeconds, signal),
    notify(shuttingDown: boolean) {
      event(shutdownEvent(shuttingDown));
      if (shuttingDown) times.began();
      base.shutdown.set(shuttingDown);
      if (!shuttingDown) renewPods(manager);
    },
    ended: () => times.ended(),
  };
  await runShutdownManager(deps, periods, stop);
}
