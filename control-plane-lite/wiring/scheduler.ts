/** Runs the built-in scheduler; of several servers that share a store, only on the leader. */
import { hostname } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { createSchedulerMetrics } from '../scheduler/metrics.ts';
import { runScheduler } from '../scheduler/scheduler.ts';
import type { Core } from './core.ts';
import { runLed } from './leader.ts';

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
    (until) => runScheduler(deps, { instance: hostname() }, until),
    signal,
  );
}
