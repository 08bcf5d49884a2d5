/** Leader election: of several servers on one store, only the holder of a Lease runs a task. The holder
 *  renews the Lease; once it has not been renewed for a while, another server acquires it. A leader that
 *  cannot renew in time stops before that. Source: upstream's leader election, release 1.24. */

import type { Lease } from '#api/gen/coordination-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import { NO_RESPONSE, type Wait, type Waits } from '#api/kit/waits.ts';
import { formatMicroTime } from '#api/meta/time.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { membersOf, typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from '../verbs/controller-caller.ts';

export interface LeadershipDeps {
  readonly leases: Resource;
  readonly verbs: Pick<Verbs, 'update'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Shows that another one holds the lease. */
  readonly waits?: Pick<Waits, 'begin'> | undefined;
}

export interface LeadershipOptions {
  readonly namespace: string;
  readonly name: string;
  /** Unique identity of this server. */
  readonly identity: string;
}

/** Lease duration; renew deadline of the holder; retry period. In ms. */
const LEASE_MS = 15_000;
const RENEW_MS = 10_000;
const RETRY_MS = 2000;

/** Another server holds the Lease. */
class HeldError extends Error {
  override readonly name = 'HeldError';
}

/** Last observed holder, and the time of the observation by our own clock: clocks of other servers may
 *  differ. */
interface Seen {
  readonly holder: string;
  readonly renewed: string;
  readonly atMs: number;
}

interface Claim {
  /** Acquires or renews the Lease. @throws HeldError, or errors of the store */
  acquire(signal: AbortSignal): Promise<void>;
  /** Releases it, so that other servers need not wait for its expiry. */
  release(): Promise<void>;
}

function createClaim(deps: LeadershipDeps, { namespace, name, identity }: LeadershipOptions): Claim {
  const { leases, verbs, clock } = deps;
  let seen: Seen = { holder: '', renewed: '', atMs: Number.NEGATIVE_INFINITY };

  function isFree({
    holderIdentity: holder = '',
    renewTime: renewed = '',
  }: NonNullable<Lease['spec']>): boolean {
    if (holder === '' || holder === identity) return true;
    const nowMs = clock.monotonic();
    if (seen.holder !== holder || seen.renewed !== renewed) seen = { holder, renewed, atMs: nowMs };
    return nowMs - seen.atMs >= LEASE_MS;
  }

  function acquired(live: ApiObject | undefined): ApiObject {
    const lease: ApiObject = live ?? {
      apiVersion: `${leases.info.group}/${leases.info.version}`,
      kind: 'Lease',
      metadata: { name, namespace },
    };
    const before = typed<Lease>(lease).spec ?? {};
    if (!isFree(before)) throw new HeldError(`the lease is held by ${before.holderIdentity ?? ''}`);
    const now = formatMicroTime(BigInt(Math.trunc(clock.now())) * 1_000_000n);
    const spec = membersOf(lease, 'spec');
    if (before.holderIdentity !== identity) {
      spec['holderIdentity'] = identity;
      spec['acquireTime'] = now;
      spec['leaseTransitions'] = live === undefined ? 0 : (before.leaseTransitions ?? 0) + 1;
    }
    spec['leaseDurationSeconds'] = LEASE_MS / 1000;
    spec['renewTime'] = now;
    return lease;
  }

  async function change(
    edit: (live: ApiObject | undefined) => ApiObject,
    signal: AbortSignal,
  ): Promise<void> {
    await verbs.update({
      ref: { resource: leases, namespace, name },
      change: edit,
      dryRun: false,
      fieldManager: name,
      allowCreate: true,
      caller: controllerCaller(name, signal),
    });
  }

  return {
    acquire: (signal) => change(acquired, signal),
    release: () =>
      change((live) => {
        if (live === undefined || typed<Lease>(live).spec?.holderIdentity !== identity) {
          throw new HeldError('the lease is held by another server');
        }
        membersOf(live, 'spec')['holderIdentity'] = '';
        return live;
      }, AbortSignal.timeout(RETRY_MS)),
  };
}

/** Rejects when the work takes too long: with an unresponsive store, a server that cannot renew must not stay
 *  leader. */
async function inTime(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const end = Promise.withResolvers<never>();
  const timer = clock.setTimer(() => {
    const late = new Error(`failed to renew the lease within ${limitMs} ms`);
    end.reject(late);
    over.abort(late);
  }, limitMs);
  try {
    await Promise.race([work(AbortSignal.any([signal, over.signal])), end.promise]);
  } finally {
    timer.cancel();
  }
}

/** Renews until the signal is aborted or the deadline has passed. `acquiredMs`: time just before the
 *  acquisition. */
async function renewUntilLost(
  claim: Claim,
  { clock, log }: LeadershipDeps,
  acquiredMs: number,
  signal: AbortSignal,
): Promise<void> {
  let renewedMs = acquiredMs;
  while (!signal.aborted) {
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const startedMs = clock.monotonic();
    try {
      await inTime(clock, renewedMs + RENEW_MS - startedMs, (until) => claim.acquire(until), signal);
      renewedMs = startedMs;
    } catch (err) {
      if (err instanceof HeldError || clock.monotonic() - renewedMs >= RENEW_MS) {
        log.warn({ err }, 'Leadership lost');
        return;
      }
    }
  }
}

/** Runs the task whenever this server leads, until the signal is aborted. The task's own signal is aborted
 *  when it must stop. */
export async function runAsLeader(
  deps: LeadershipDeps,
  options: LeadershipOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const claim = createClaim(deps, options);
  const what = `lease ${options.namespace}/${options.name}`;
  let wait: Wait | undefined;
  while (!signal.aborted) {
    wait ??= deps.waits?.begin(what, NO_RESPONSE);
    const acquiredMs = clock.monotonic();
    const leads = await claim.acquire(signal).then(
      () => true,
      (err: unknown) => {
        wait?.because(messageOf(err));
        if (!(err instanceof HeldError)) log.debug({ err }, 'Failed to acquire leadership');
        return false;
      },
    );
    if (leads) {
      wait?.end();
      wait = undefined;
      const leading = new AbortController();
      const working = work(AbortSignal.any([signal, leading.signal]));
      await Promise.race([renewUntilLost(claim, deps, acquiredMs, signal), working]);
      leading.abort(new Error('this server is no longer the leader'));
      await working;
      await claim.release().catch(() => undefined);
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
  }
  wait?.end();
}
