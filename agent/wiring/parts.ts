/** One agent's parts, made and run. What belongs to its process alone stays with whoever runs it. */
import type { Clock } from '#api/kit/clock.ts';
import { CSI_DIR } from '#volumes/csi/publish.ts';
import { createCsiMeasure } from '#volumes/csi/stats.ts';
import type { MeasureVolume } from '#volumes/usage/contract.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { createPodEvent } from '../pods/pod-event.ts';
import { runAll } from './background.ts';
import type { Base } from './base.ts';
import { createCollectionSide } from './collection-side.ts';
import { createDiskSide } from './disk-side.ts';
import { createEvictionSide } from './eviction-side.ts';
import { runPodResourcesSide } from './pod-resources-side.ts';
import { createPodSide, type PodSide } from './pod-side.ts';
import type { RuntimeSide } from './runtime-side.ts';
import { startServers } from './servers.ts';
import { runShutdownSide } from './shutdown-side.ts';

/** Time for what is under way to come to rest after the signal, in ms. Most of what the runtime has begun ends
 *  within it, and is noted; the rest goes on without this agent, and the next one finds it. */
const DRAIN_MS = 400;

/** What goes on beside the parts as soon as they are up. */
export interface Beside {
  /** Ends with the signal. */
  readonly until: Promise<unknown>;
  /** Told when the parts begin to end. */
  readonly stopping: () => void;
}

const csiMeasure = ({ config }: Base, { csi }: PodSide): ReadonlyMap<string, MeasureVolume> =>
  new Map([[CSI_DIR, createCsiMeasure(config.rootDir, csi.volumes)]]);

const isJoined = ({ platconfig, bootstrapKubeconfig }: AgentConfig): boolean =>
  platconfig !== '' || bootstrapKubeconfig !== '';

/** Runs the parts until the signal fires. Pods keep running.
 *  @param up called when the agent serves
 *  @throws what ends work that is to go on for ever: the agent is to be started again */
export async function runParts(
  base: Base,
  runtimeSide: RuntimeSide,
  stop: AbortSignal,
  up: () => Promise<Beside>,
): Promise<void> {
  // Loaded by an agent that has an API server alone.
  const apiSide = isJoined(base.config)
    ? await (await import('./api-side.ts')).createApiSide(base, runtimeSide, stop)
    : undefined;
  const podSide = await createPodSide(base, runtimeSide, apiSide?.parts);
  const disk = createDiskSide(base, runtimeSide, {
    ...podSide,
    drivers: csiMeasure(base, podSide),
    event: createPodEvent(base.events),
  });
  const collection = createCollectionSide(base, runtimeSide, podSide);
  const eviction = createEvictionSide(base, runtimeSide, { ...podSide, collection, disk: disk.usage });
  const { collectedImages } = collection;
  const served = { ...podSide, disk: disk.usage, collectedImages };
  const servers = await startServers(base, runtimeSide, served, apiSide?.access);
  const beside = await up();
  const work = Promise.all([
    runAll(base, runtimeSide, podSide, collection, stop),
    apiSide?.run(podSide, stop),
    disk.run(stop),
    eviction.run(stop),
    runPodResourcesSide(base, podSide, stop),
    runShutdownSide(base, runtimeSide, podSide, stop),
  ]);
  // Work that ends with a fault ends the agent, to be started again; its pods run on.
  await Promise.race([aborted(stop), work]);
  beside.stopping();
  podSide.probes.stop();
  await within(
    base.clock,
    DRAIN_MS,
    Promise.all([work, beside.until, podSide.manager.stopped(), podSide.execs.setUp()]),
  );
  await Promise.all(servers.map((server) => server.close()));
  disk.usage.close();
  await apiSide?.[Symbol.asyncDispose]();
  runtimeSide.connection.close();
  runtimeSide.imageConnection.close();
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
