/** Everything that runs for as long as the agent does. */
import { asError, sleep } from '#api/kit/clock.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import { containerLogPath } from '../logs/paths.ts';
import { createLogRotator } from '../logs/rotation-manager.ts';
import { createMemoryTidier } from '../node/memory-tidier.ts';
import { isAlive } from '../pods/containers.ts';
import { runOrphans } from '../pods/orphans.ts';
import { createRestorer } from '../pods/restore.ts';
import { runResync } from '../pods/resync.ts';
import { watchStrays } from '../pods/strays.ts';
import { RUNTIME_WAIT } from '../runtime/runtime-wait.ts';
import { afterShutdown } from '../shutdown/ended-pods.ts';
import type { Base } from './base.ts';
import type { CollectionSide } from './collection-side.ts';
import { retryCsiPods } from './csi-side.ts';
import { retryDevicePods } from './device-side.ts';
import type { PodSide } from './pod-side.ts';
import type { RuntimeSide } from './runtime-side.ts';

/** A runtime that never answers is asked again after this, in ms. */
const FIRST_LOOK_RETRY_MS = 500;

/** Everything that runs for as long as the agent does. Nothing is decided before the runtime was seen once. */
export async function runAll(
  base: Base,
  { connection, identity, view, observer, lost }: RuntimeSide,
  {
    manager,
    sources,
    records,
    memory,
    volumes,
    resources,
    csi,
    cgroupSide,
    waiting,
    refreshVolumes,
  }: PodSide,
  collection: Pick<CollectionSide, 'run'>,
  stop: AbortSignal,
): Promise<void> {
  const { config, clock, log, waits } = base;
  const running = [sources.run(stop)];
  await firstLook({ connection, identity, observer, clock, waits }, stop);
  if (!stop.aborted) {
    await cgroupSide.cgroups.begin();
    const restore = createRestorer({ view, records, memory, volumes, log });
    const restored = await restore();
    manager.restore(restored.map(afterShutdown));
    sources.restored(restored);
    manager.apply(sources.current());
    manager.start(stop);
    base.canRun.resolve();
    waiting?.begin();
    if (waiting !== undefined) base.changes.subscribe(waiting.look);
    watchStrays({ view, manager, log }, stop);
    const tidier = createMemoryTidier({ clock, log, tidy: base.tidy });
    view.onChange(() => tidier.note());
    csi.volumes.drivers.onChange(() => retryCsiPods(manager, volumes));
    resources.onChange(() => retryDevicePods(base, manager));
    base.changes.subscribe(() => resources.keepOnly(() => holdingPods(manager, view)));
    running.push(
      lost.sweep(),
      cgroupSide.run(manager, stop),
      resources.run(stop),
      csi.registry.run(stop),
      volumes.recover(stop),
      runOrphans({ view, manager, volumes, clock, log }, stop),
      observer.run(stop),
      tidier.run(stop),
      collection.run(stop),
      rotateLogs(base, { connection, view }, stop),
      runResync(
        { workers: () => manager.workers(), refresh: refreshVolumes, clock },
        config.syncFrequency,
        stop,
      ),
    );
  }
  await Promise.all(running);
}

/** Pods that may hold resources of the node: all but those that have ended, and of which nothing runs any more. */
function holdingPods(manager: PodSide['manager'], view: RuntimeSide['view']): ReadonlySet<string> {
  const ended = manager.entries().filter(({ pod, status }) => {
    const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
    return isOver && !view.pod(pod.metadata?.uid ?? '').containers.some(isAlive);
  });
  const over = new Set(ended.map(({ pod }) => pod.metadata?.uid));
  return new Set(manager.podUIDs().filter((podUID) => !over.has(podUID)));
}

type FirstLookParts = Pick<RuntimeSide, 'connection' | 'identity' | 'observer'> &
  Pick<Base, 'clock' | 'waits'>;

async function firstLook(
  { connection, identity, observer, clock, waits }: FirstLookParts,
  stop: AbortSignal,
): Promise<void> {
  const wait = waits.begin(`${RUNTIME_WAIT} ${connection.endpoint}`);
  while (!stop.aborted) {
    try {
      await connection.whenConnected(stop);
      await identity.load(stop);
      await observer.relist(stop);
      break;
    } catch (err) {
      if (stop.aborted) break;
      wait.because(asError(err).message);
      await sleep(clock, FIRST_LOOK_RETRY_MS, stop).catch(() => undefined);
    }
  }
  wait.end();
}

async function rotateLogs(
  { config, clock, log }: Base,
  { connection, view }: Pick<RuntimeSide, 'connection' | 'view'>,
  stop: AbortSignal,
): Promise<void> {
  const { podLogsDir, containerLogMaxFiles: maxFiles } = config;
  const listRunning = () =>
    view.containers().flatMap(({ id, podUID, name, attempt, state, sandboxId }) => {
      const sandbox = view.sandbox(sandboxId);
      if (state !== 'running' || sandbox === undefined) return [];
      const pod = { namespace: sandbox.podNamespace, name: sandbox.podName, podUID };
      return [{ containerID: id, logPath: containerLogPath(podLogsDir, pod, name, attempt) }];
    });
  const rotator = createLogRotator(
    {
      clock,
      log,
      listRunning,
      reopenContainerLog: async (containerId, signal) => {
        await connection.runtime.reopenContainerLog({ containerId }, { signal });
      },
    },
    { podLogsDir, maxSizeBytes: quantityValue(config.containerLogMaxSize), maxFiles },
  );
  await rotator.run(stop);
}
