/** Runs the built-in scheduler; of several servers that share a store, only on the leader. */
import { hostname } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { createSchedulerMetrics } from '../scheduler/metrics.ts';
import { runScheduler } from '../scheduler/scheduler.ts';
import type { Core } from './core.ts';
import { runLed } from './leader.ts';

/** What decisions are made from, as group and plural. */
const INPUTS: readonly (readonly [group: string, plural: string])[] = [
  ['', 'pods'],
  ['', 'nodes'],
  ['', 'persistentvolumes'],
  ['', 'persistentvolumeclaims'],
  ['', 'replicationcontrollers'],
  ['apps', 'replicasets'],
  ['apps', 'statefulsets'],
];

/** A pod or a volume that cannot be decrypted occupies its node all the same: until it is known, nothing is bound. */
async function knowInputs({ registry, cache, log }: Core, signal: AbortSignal): Promise<void> {
  const prefixes = INPUTS.flatMap(
    ([group, plural]) => registry.find(group, 'v1', plural)?.storage.prefix ?? [],
  );
  const readable = cache.readable(new Set(prefixes), signal);
  if (readable === undefined) return;
  log.warn({}, 'Scheduling waits: stored pods, nodes or volumes cannot be decrypted');
  await readable;
  if (!signal.aborted) log.info({}, 'Scheduling begins: stored pods, nodes and volumes are decrypted');
}

/** Runs until the signal fires; not started if another program schedules. */
export async function startScheduler(core: Core, signal: AbortSignal): Promise<void> {
  const { config, registry, cache, verbs, clock, vocabulary, gates } = core;
  if (!config.scheduler) return;
  const log = core.log.child({ component: 'scheduler' });
  const metrics = createSchedulerMetrics(core.metrics, 'default-scheduler');
  const shared = { registry, cache, verbs, clock, vocabulary, gates, log, metrics };
  const deps = { ...shared, random: Math.random, pause: () => pause() };
  await runLed(
    core,
    { name: `${vocabulary.componentPrefix}-scheduler`, log },
    async (until) => {
      await knowInputs({ ...core, log }, until);
      if (!until.aborted) await runScheduler(deps, { instance: hostname() }, until);
    },
    signal,
  );
}
