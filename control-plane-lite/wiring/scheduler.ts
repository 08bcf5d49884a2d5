/** The scheduler of this server. */
import { hostname } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { runScheduler } from '../scheduler/scheduler.ts';
import type { Core } from './core.ts';

/** Works until the signal fires; not at all where the scheduler is another's. */
export async function startScheduler(core: Core, signal: AbortSignal): Promise<void> {
  const { config, registry, cache, verbs, clock, vocabulary } = core;
  if (!config.scheduler) return;
  await runScheduler(
    {
      registry,
      cache,
      verbs,
      clock,
      vocabulary,
      log: core.log.child({ component: 'scheduler' }),
      random: Math.random,
      pause: () => pause(),
    },
    { instance: hostname() },
    signal,
  );
}
