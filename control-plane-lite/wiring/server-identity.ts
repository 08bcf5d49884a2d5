/** Runs the Lease of this server, if its gate is on. */
import { runServerIdentity } from '../controllers/server-identity.ts';
import type { Core } from './core.ts';

/** Runs until the signal is aborted. */
export async function startServerIdentity(
  { gates, config, registry, vocabulary, ...core }: Core,
  signal: AbortSignal,
): Promise<void> {
  const leases = registry.find(`coordination.${vocabulary.apiGroupDomain}`, 'v1', 'leases');
  if (!gates.has('APIServerIdentity') || leases === undefined) return;
  await runServerIdentity(
    { ...core, leases, vocabulary },
    {
      leaseSeconds: config.identityLeaseDurationSeconds,
      renewMs: config.identityLeaseRenewIntervalSeconds * 1000,
    },
    signal,
  );
}
