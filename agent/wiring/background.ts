/** Background work of the agent. */
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import { containerLogPath } from '../logs/paths.ts';
import { createLogRotator } from '../logs/rotation-manager.ts';
import { createMemoryTidier } from '../node/memory-tidier.ts';
import { isAlive } from '../pods/decide/containers.ts';
import { runOrphanedDirectories } from '../pods/restore/orphaned-folders.ts';
import { createRestorer } from '../pods/restore/restore.ts';
import { watchOrphanedPods } from '../pods/restore/unknown-pods.ts';
import { runResync } from '../pods/resync.ts';
import { RUNTIME_WAIT } from '../runtime/runtime-wait.ts';
import { afterShutdown } from '../shutdown/ended-pods.ts';
import type { Base } from './base.ts';
import type { CollectionSubsystem } from './node/garbage-collection.ts';
import { retryCsiPods } from './pods/csi.ts';
import { retryDevicePods } from './pods/device-plugins.ts';
import type { PodSubsystem } from './pods/pods.ts';
import type { RuntimeSubsystem } from './runtime.ts';

/** Retry interval while the runtime does not respond, in ms. */
const FIRST_OBSERVATION_RETRY_MS = 500;

/** Runs all background work until the signal fires. Makes no decisions before the runtime has been observed
 *  once. */
export async function runAll(
  base: Base,
  { connection, identity, view, observer, lost }: RuntimeSubsystem,
  {
    manager,
    sources,
    records,
    memory,
    volumes,
    localVolumes,
    resources,
    csi,
    cgroupSubsystem,
    waiting,
    refreshVolumes,
  }: PodSubsystem,
  collection: Pick<CollectionSubsystem, 'run'>,
  stop: AbortSignal,
): Promise<void> {
  const { config, clock, log, waits } = base;
  const running = [sources.run(stop)];
  await firstObservation({ connection, identity, observer, clock, waits }, stop);
  if (!stop.aborted) {
    await cgroupSubsystem.cgroups.begin();
    const restore = createRestorer({ view, records, memory, volumes, log });
    const restored = await restore();
    manager.restore(restored.map(afterShutdown));
    sources.restored(restored);
    manager.apply(sources.current());
    manager.start(stop);
    base.canRun.resolve();
    waiting?.begin();
    if (waiting !== undefined) base.changes.add(waiting.look);
    watchOrphanedPods({ view, manager, log }, stop);
    const tidier = createMemoryTidier({ clock, log, tidy: base.tidy });
    view.onChange(() => tidier.note());
    csi.volumes.drivers.onChange(() => retryCsiPods(manager, volumes));
    resources.onChange(() => retryDevicePods(base, manager));
    base.changes.add(() => resources.retainOnly(() => holdingPods(manager, view)));
    running.push(
      lost.sweep(),
      cgroupSubsystem.run(manager, stop),
      resources.run(stop),
      csi.registry.run(stop),
      volumes.recover(stop),
      localVolumes.recover(stop),
      runOrphanedDirectories({ view, manager, volumes, clock, log }, stop),
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

/** Returns pods that may hold resources of the node: all except terminated ones without running containers. */
function holdingPods(manager: PodSubsystem['manager'], view: RuntimeSubsystem['view']): ReadonlySet<string> {
  const ended = manager.entries().filter(({ pod, status }) => {
    const isOver = status.phase === 'Succeeded' || status.phase === 'Failed';
    return isOver && !view.pod(pod.metadata?.uid ?? '').containers.some(isAlive);
  });
  const over = new Set(ended.map(({ pod }) => pod.metadata?.uid));
  return new Set(manager.podUIDs().filter((podUID) => !over.has(podUID)));
}

type FirstObservationParts = Pick<RuntimeSubsystem, 'connection' | 'identity' | 'observer'> &
  Pick<Base, 'clock' | 'waits'>;

async function firstObservation(
  { connection, identity, observer, clock, waits }: FirstObservationParts,
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
      await sleep(clock, FIRST_OBSERVATION_RETRY_MS, stop).catch(() => undefined);
    }
  }
  wait.end();
}

async function rotateLogs(
  { config, clock, log }: Base,
  { connection, view }: Pick<RuntimeSubsystem, 'connection' | 'view'>,
  stop: AbortSignal,
): Promise<void> {
  const { podLogsDir, containerLogMaxFiles: maxFiles } = config;
  const listRunning = () =>
    view.containers().flatMap(({ id, podUID, name, attempt, state, sandboxId }) => {
      const sandbox = view.sandbox(sandboxId);
      if (state !== 'running' || sandbox === undefined) return [];
      const pod = { namespace: sandbox.podNamespace, name: sandbox.podName, uid: podUID };
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
