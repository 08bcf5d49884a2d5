/** The Lease by which each API server shows that it lives, and the removal of the Leases of servers that no longer
 *  do. By the gate APIServerIdentity. Source: upstream's API server identity, release 1.24. */
import { randomUUID } from 'node:crypto';
import type { Lease } from '#api/gen/coordination-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { formatMicroTime } from '#api/meta/time.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';
import { unlessGone } from '../verbs/unless-gone.ts';

export interface IdentityDeps {
  readonly leases: Resource;
  readonly cache: Pick<Cache, 'resource'>;
  readonly verbs: Pick<Verbs, 'update' | 'delete'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
}

export interface IdentityOptions {
  readonly leaseSeconds: number;
  readonly renewMs: number;
}

const componentOf = ({ componentPrefix }: Vocabulary): string => `${componentPrefix}-apiserver`;

const labelOf = ({ apiGroupDomain }: Vocabulary): string => `${apiGroupDomain}/component`;

/** Reports whether the Lease is of a server that has not renewed it in time. */
export function isExpiredIdentity(lease: Lease, vocabulary: Vocabulary, nowMs: number): boolean {
  if (lease.metadata?.labels?.[labelOf(vocabulary)] !== componentOf(vocabulary)) return false;
  const { renewTime, leaseDurationSeconds } = lease.spec ?? {};
  // Upstream deletes a Lease without them, too.
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true;
  return Date.parse(renewTime) + leaseDurationSeconds * 1000 < nowMs;
}

/** Renews the Lease of this server until the signal. A failure is retried with the next renewal. */
export async function runServerIdentity(
  { leases, cache, verbs, clock, log, vocabulary }: IdentityDeps,
  { leaseSeconds, renewMs }: IdentityOptions,
  signal: AbortSignal,
): Promise<void> {
  const component = componentOf(vocabulary);
  const namespace = vocabulary.systemNamespace;
  const name = `${component}-${randomUUID()}`;
  const holderIdentity = `${name}_${randomUUID()}`;
  const caller = controllerCaller(component, signal);

  function renewed(live: ApiObject | undefined): ApiObject {
    const renewTime = formatMicroTime(BigInt(Math.trunc(clock.now())) * 1_000_000n);
    const spec = { holderIdentity, leaseDurationSeconds: leaseSeconds, renewTime };
    if (live !== undefined) return { ...live, spec };
    const metadata = { name, namespace, labels: { [labelOf(vocabulary)]: component } };
    return { apiVersion: `${leases.info.group}/${leases.info.version}`, kind: 'Lease', metadata, spec };
  }

  async function removeExpired(): Promise<void> {
    const { items } = await cache.resource(leases.storage).list({ labels: [], fields: [], namespace });
    for (const item of items) {
      if (!isExpiredIdentity(typed<Lease>(item.object()), vocabulary, clock.now())) continue;
      const ref = { resource: leases, namespace, name: item.name };
      await unlessGone(() => verbs.delete({ ref, dryRun: false, caller }));
    }
  }

  while (!signal.aborted) {
    try {
      await verbs.update({
        ref: { resource: leases, namespace, name },
        change: renewed,
        dryRun: false,
        fieldManager: component,
        allowCreate: true,
        caller,
      });
      await removeExpired();
    } catch (thrown) {
      if (!signal.aborted) log.warn({ err: asError(thrown) }, 'Failed to renew server identity; retrying');
    }
    await sleep(clock, renewMs, signal).catch(() => undefined);
  }
}
