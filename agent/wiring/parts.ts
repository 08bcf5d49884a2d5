/** Creates and runs the parts of one agent. Everything that belongs to its process is left to the caller. */
import type { Clock } from '#api/kit/clock.ts';
import { CSI_DIR } from '#volumes/csi/publish.ts';
import { createCsiMeasure } from '#volumes/csi/stats.ts';
import type { MeasureVolume } from '#volumes/usage/contract.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { createPodEvent } from '../pods/pod-event.ts';
import { runAll } from './background.ts';
import type { Base } from './base.ts';
import { createDiskSubsystem } from './node/disk-usage.ts';
import { createEvictionSubsystem } from './node/eviction.ts';
import { createCollectionSubsystem } from './node/garbage-collection.ts';
import { createNetworkSubsystem } from './node/network.ts';
import { runShutdownSubsystem } from './node/shutdown.ts';
import { createPodSubsystem, type PodSubsystem } from './pods/pods.ts';
import type { RuntimeSubsystem } from './runtime.ts';
import { runPodResourcesSubsystem } from './servers/pod-resources.ts';
import { startServers } from './servers/servers.ts';

/** Time for operations in flight to finish after the signal, in ms. Most operations of the runtime end within
 *  it and are recorded; the rest continues without this agent, and the next one observes it. */
const DRAIN_MS = 400;

/** Work that the caller runs while the parts are up. */
export interface Beside {
  /** Settles after the signal. */
  readonly until: Promise<unknown>;
  /** Called when the parts begin to stop. */
  readonly stopping: () => void;
}

const csiMeasure = ({ config }: Base, { csi }: PodSubsystem): ReadonlyMap<string, MeasureVolume> =>
  new Map([[CSI_DIR, createCsiMeasure(config.rootDir, csi.volumes)]]);

const isJoined = ({ platconfig, bootstrapKubeconfig }: AgentConfig): boolean =>
  platconfig !== '' || bootstrapKubeconfig !== '';

/** Runs the parts until the signal fires. Pods keep running.
 *  @param up called when the agent serves
 *  @throws the failure of permanent work, after which the agent should be restarted */
export async function runParts(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  stop: AbortSignal,
  up: () => Promise<Beside>,
): Promise<void> {
  // Loaded only with an API server.
  const apiSubsystem = isJoined(base.config)
    ? await (await import('./api/api-server.ts')).createApiSubsystem(base, runtimeSubsystem, stop)
    : undefined;
  const network = await createNetworkSubsystem(base, runtimeSubsystem, apiSubsystem?.node);
  const podSubsystem = await createPodSubsystem(base, runtimeSubsystem, apiSubsystem?.parts);
  const disk = createDiskSubsystem(base, runtimeSubsystem, {
    ...podSubsystem,
    drivers: csiMeasure(base, podSubsystem),
    event: createPodEvent(base.events),
  });
  const collection = createCollectionSubsystem(base, runtimeSubsystem, podSubsystem);
  const eviction = createEvictionSubsystem(base, runtimeSubsystem, {
    ...podSubsystem,
    collection,
    disk: disk.usage,
  });
  const { collectedImages } = collection;
  const served = { ...podSubsystem, disk: disk.usage, collectedImages };
  const servers = await startServers(base, runtimeSubsystem, served, apiSubsystem?.access);
  const beside = await up();
  const work = Promise.all([
    runAll(base, runtimeSubsystem, podSubsystem, collection, stop),
    apiSubsystem?.run(podSubsystem, stop),
    disk.run(stop),
    network.run(stop),
    eviction.run(stop),
    runPodResourcesSubsystem(base, podSubsystem, stop),
    runShutdownSubsystem(base, runtimeSubsystem, podSubsystem, stop),
  ]);
  // Failed work stops the agent, which is then restarted; its pods keep running.
  await Promise.race([aborted(stop), work]);
  beside.stopping();
  podSubsystem.probes.stop();
  await settledWithin(base.clock, [
    work,
    beside.until,
    podSubsystem.manager.stopped(),
    podSubsystem.execs.setUp(),
  ]);
  await Promise.all(servers.map((server) => server.close()));
  disk.usage.close();
  await apiSubsystem?.[Symbol.asyncDispose]();
  runtimeSubsystem.connection.close();
  runtimeSubsystem.imageConnection.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Waits for operations in flight, up to a limit. Leaves no timer that would keep the process alive. */
export async function settledWithin(clock: Clock, work: readonly Promise<unknown>[]): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = clock.setTimer(limit.resolve, DRAIN_MS);
  await Promise.race([Promise.all(work), limit.promise]);
  timer.cancel();
}
