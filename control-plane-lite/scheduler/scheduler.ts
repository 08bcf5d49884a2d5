/** The scheduler: processes queued pods one by one, decides, and hands the decisions to the writers.
 *  Decisions assume that all earlier decisions have been carried out. Source: upstream's scheduler, release
 *  1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache, ResourceCache } from '../cache/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { createAttempts } from './attempt.ts';
import type { WakeEvent } from './filters/filter.ts';
import { createFleet, type Fleet } from './fleet/fleet.ts';
import type { PodInfo } from './fleet/model.ts';
import { createPodReader, type ReadPod } from './fleet/pod-info.ts';
import { followFleet } from './follow.ts';
import type { SchedulerMetrics } from './metrics.ts';
import { pump } from './pump.ts';
import { createSchedulingQueue, type SchedulingQueue } from './queue.ts';
import { createSurroundings } from './surroundings.ts';
import { createBinder } from './write/binder.ts';
import { createEventWriter } from './write/event-writer.ts';
import { createPreemptor } from './write/preemptor.ts';
import { createReporter, type Reporter } from './write/reporter.ts';
import { createVolumeBinder } from './write/volume-binder.ts';

export interface SchedulerDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Pick<Cache, 'resource'>;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  readonly metrics?: SchedulerMetrics | undefined;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Resolves in a later turn of the event loop. */
  readonly pause: () => Promise<void>;
}

export interface SchedulerOptions {
  /** Identifies this server in events. */
  readonly instance: string;
}

/** Puts a pod that was not bound back where it belongs, as it is by now. */
function undoOf(parts: {
  readonly fleet: Fleet;
  readonly queue: SchedulingQueue;
  readonly reporter: Reporter;
  readonly cache: ResourceCache;
  readonly readPod: ReadPod;
  readonly wake: (event: WakeEvent) => void;
}): (pod: PodInfo, error: Error | undefined) => void {
  const { fleet, queue, reporter, cache } = parts;
  return (pod, error) => {
    const nodeName = fleet.nodeOf(pod.key);
    const isOurs = nodeName !== undefined && fleet.node(nodeName)?.pods.get(pod.key) === pod;
    if (isOurs) fleet.removePod(pod.key);
    if (isOurs) parts.wake('podGone');
    const live = cache.get(pod.key);
    const object = live === undefined ? undefined : typed<Pod>(live.object());
    const waits =
      object?.metadata?.uid === pod.uid &&
      object.metadata.deletionTimestamp === undefined &&
      (object.spec?.nodeName ?? '') === '';
    if (!waits) return;
    queue.put(parts.readPod(object), false);
    queue.giveBack(pod.key, undefined);
    if (error !== undefined) reporter.report(pod, { reason: 'SchedulerError', message: error.message });
  };
}

/** Events since the last cycle; reported to the queue once, however often they occurred. */
function createEventBuffer(queue: SchedulingQueue): { add(event: WakeEvent): void; flush(): void } {
  const events = new Set<WakeEvent>();
  return {
    add: (event) => void events.add(event),
    flush() {
      for (const event of events) queue.wake(event);
      events.clear();
    },
  };
}

interface SchedulerResources {
  readonly pods: Resource;
  readonly nodes: Resource;
  readonly bindings: Resource;
}

function resourcesOf({ registry }: SchedulerDeps): SchedulerResources | undefined {
  const pods = registry.find('', 'v1', 'pods');
  const nodes = registry.find('', 'v1', 'nodes');
  const bindings = registry.find('', 'v1', 'bindings');
  if (pods === undefined || nodes === undefined || bindings === undefined) return undefined;
  return { pods, nodes, bindings };
}

/** Runs until the signal is aborted. */
export async function runScheduler(
  deps: SchedulerDeps,
  { instance }: SchedulerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { registry, cache, verbs, clock, log, vocabulary, pause } = deps;
  const resources = resourcesOf(deps);
  if (resources === undefined) return;
  const { pods, nodes, bindings } = resources;
  const manager = `${vocabulary.componentPrefix}-scheduler`;
  const podCache = cache.resource(pods.storage);
  const readPod = createPodReader();
  const queue = createSchedulingQueue({ clock, onDue: () => loop.wake() });
  deps.metrics?.count(() => queue.counts());
  const eventBuffer = createEventBuffer(queue);
  const flushEvents = (): void => eventBuffer.flush();
  const changed = (...events: readonly WakeEvent[]): void => {
    attempts.fleetChanged();
    for (const event of events) eventBuffer.add(event);
    if (events.length > 0) loop.wake();
  };
  let started = false;
  const surroundings = createSurroundings({
    registry,
    cache,
    vocabulary,
    gates: deps.gates,
    onVolumes() {
      if (!started) return;
      volumeBinder.onVolumes();
      changed('volumes');
    },
  });
  const { reserve } = surroundings;
  const fleet = createFleet(surroundings);
  const volumeBinder = createVolumeBinder({ registry, verbs, clock, vocabulary, manager, fleet, reserve });
  const events = createEventWriter({ registry, verbs, clock, log }, { instance }, signal);
  const reporter = createReporter({ pods, cache: podCache, verbs, events, clock, log, manager });
  const undo = undoOf({ fleet, queue, reporter, cache: podCache, readPod, wake: (event) => changed(event) });
  const binder = createBinder(
    { ...deps, pods, bindings, events, manager, undo, bindVolumes: (...args) => volumeBinder.bind(...args) },
    signal,
  );
  const attempts = createAttempts({
    fleet,
    queue,
    reporter,
    binder,
    random: deps.random,
    clock,
    metrics: deps.metrics,
    budgets: surroundings.budgets,
    preempt: createPreemptor({ pods, verbs, events, log, manager }, signal),
    assumeVolumes: (pod, node) => volumeBinder.assume(pod, node),
    log,
  });
  const loop = createLoop({
    clock,
    step: () => pump({ clock, pause, queue, binder, attempt: attempts.run, flushEvents }, signal),
    onError: (err) => log.error({ err }, 'Scheduling cycle failed'),
  });
  started = true;
  const following = followFleet({
    nodes: cache.resource(nodes.storage),
    pods: podCache,
    fleet,
    queue,
    readPod,
    onChange: changed,
    onDone: (key) => reporter.forget(key),
    isBinding: (key) => binder.isBinding(key),
    onError: (err) => log.warn({ err }, 'Failed to read node or pod for scheduling'),
    pause,
  });
  await following.loaded;
  await Promise.all([loop.run(signal), reporter.run(signal)]);
  following.close();
  surroundings.close();
  queue.close();
}
