/** The scheduler of this server; of several that share a store, of the one that leads. */
import { hostname } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { runScheduler } from '../scheduler/scheduler.ts';
import type { Core } from './core.ts';
import { runLed } from './leader.ts';

/** Works until the signal fires; not at all where the scheduler is another's. */
export async function startScheduler(core: Core, signal: AbortSignal): Promise<void> {
  const { config, registry, cache, verbs, clock, vocabulary, gates } = core;
  if (!config.scheduler) return;
  const log = core.log.child({ component: 'scheduler' });
  const shared = { registry, cache, verbs, clock, vocabulary, gates, log };
  const deps = { ...shared, random: Math.random, pause: () => pause() };
  await runLed(
    core,
    { name: `${vocabulary.componentPrefix}-scheduler`, log },
    (until) => runScheduler(deps, { instance: hostname() }, until),
    signal,
  );
}
