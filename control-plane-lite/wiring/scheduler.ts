/** The scheduler of this server; of several that share a store, of the one that leads. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setImmediate as pause } from 'node:timers/promises';
import { runAsLeader } from '../controllers/leadership.ts';
import { runScheduler } from '../scheduler/scheduler.ts';
import type { Core } from './core.ts';

/** Works until the signal fires; not at all where the scheduler is another's. */
export async function startScheduler(core: Core, signal: AbortSignal): Promise<void> {
  const { config, registry, cache, verbs, clock, vocabulary } = core;
  if (!config.scheduler) return;
  const log = core.log.child({ component: 'scheduler' });
  const deps = { registry, cache, verbs, clock, vocabulary, log, random: Math.random, pause: () => pause() };
  const run = (until: AbortSignal): Promise<void> => runScheduler(deps, { instance: hostname() }, until);
  const leases = registry.find(`coordination.${vocabulary.apiGroupDomain}`, 'v1', 'leases');
  if (config.etcdServers.length === 0 || leases === undefined) {
    await run(signal);
    return;
  }
  const lease = {
    namespace: vocabulary.systemNamespace,
    name: `${vocabulary.componentPrefix}-scheduler`,
    identity: `${hostname()}_${randomUUID()}`,
  };
  await runAsLeader({ leases, verbs, clock, log }, lease, run, signal);
}
