/** Runs work on one of several servers that share a store. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from '#api/kit/logger.ts';
import { runAsLeader } from '../controllers/leadership.ts';
import type { Core } from './core.ts';

/** Runs the work while this server leads, until the signal fires. A server with a store of its own always
 *  leads. `name`: of the Lease. */
export async function runLed(
  core: Core,
  { name, log }: { readonly name: string; readonly log: Logger },
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { config, registry, verbs, clock, vocabulary, waits } = core;
  const leases = registry.find(`coordination.${vocabulary.apiGroupDomain}`, 'v1', 'leases');
  if (config.etcdServers.length === 0 || leases === undefined) {
    await work(signal);
    return;
  }
  const lease = {
    namespace: vocabulary.systemNamespace,
    name,
    identity: `${hostname()}_${randomUUID()}`,
  };
  await runAsLeader({ leases, verbs, clock, log, waits }, lease, work, signal);
}
