/** Has one of several servers on a store do a work: the one that holds a Lease. The holder renews it; when it does not
 *  for a while, another takes it. Whoever can't renew in time stops first.
 *  Source: upstream's leader election, release 1.24. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { formatMicroTime } from '#api/meta/time.ts';
import type { Lease } from '#api/schema/gen/coordination-v1.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { membersOf, typed } from '../resources/view.ts';
import type { Verbs } from '../verbs/contract.ts';
import { controllerCaller } from './caller.ts';

export interface LeadershipDeps {
  readonly leases: Resource;
  readonly verbs: Pick<Verbs, 'update'>;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface LeadershipOptions {
  readonly namespace: string;
  readonly name: string;
  /** Of this server; no other's. */
  readonly identity: string;
}

/** Until a Lease that is not renewed is free; until its holder stops if it can't renew; between two tries. In ms. */
const LEASE_MS = 15_000;
const RENEW_MS = 10_000;
const RETRY_MS = 2000;

/** Another one holds it. */
class HeldError extends Error {
  override readonly name = 'HeldError';
}

/** What was seen of the holder, and when by our own clock: the clocks of others may differ. */
interface Seen {
  readonly holder: string;
  readonly renewed: string;
  readonly atMs: number;
}

interface Claim {
  /** Takes the Lease or renews it. @throws HeldError, or what the store says */
  take(signal: AbortSignal): Promise<void>;
  /** Gives it up, so that others need not wait. */
  giveUp(): Promise<void>;
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

  function taken(live: ApiObject | undefined): ApiObject {
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
    await verbs.update(
      { resource: leases, namespace, name },
      edit,
      { dryRun: false, fieldManager: name, allowCreate: true },
      controllerCaller(name, signal),
    );
  }

  return {
    take: (signal) => change(taken, signal),
    giveUp: () =>
      change((live) => {
        if (live === undefined || typed<Lease>(live).spec?.holderIdentity !== identity) {
          throw new HeldError('the lease is not ours');
        }
        membersOf(live, 'spec')['holderIdentity'] = '';
        return live;
      }, AbortSignal.timeout(RETRY_MS)),
  };
}

/** Rejects when the work takes too long: a store that hangs must not make a leader of one who can't renew. */
async function inTime(
  clock: Clock,
  limitMs: number,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const end = Promise.withResolvers<never>();
  const timer = clock.setTimer(() => {
    const late = new Error(`the lease could not be renewed within ${limitMs} ms`);
    end.reject(late);
    over.abort(late);
  }, limitMs);
  try {
    await Promise.race([work(AbortSignal.any([signal, over.signal])), end.promise]);
  } finally {
    timer.cancel();
  }
}

/** Renews until the signal fires or it was not possible in time. `takenMs`: when it was about to be taken. */
async function keep(
  claim: Claim,
  { clock, log }: LeadershipDeps,
  takenMs: number,
  signal: AbortSignal,
): Promise<void> {
  let renewedMs = takenMs;
  while (!signal.aborted) {
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
    if (signal.aborted) return;
    const startedMs = clock.monotonic();
    try {
      await inTime(clock, renewedMs + RENEW_MS - startedMs, (until) => claim.take(until), signal);
      renewedMs = startedMs;
    } catch (err) {
      if (err instanceof HeldError || clock.monotonic() - renewedMs >= RENEW_MS) {
        log.warn({ err }, 'Leadership was lost');
        return;
      }
    }
  }
}

/** Has the work done whenever this server leads, until the signal fires. The work's own signal fires when it must
 *  stop. */
export async function runAsLeader(
  deps: LeadershipDeps,
  options: LeadershipOptions,
  work: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  const claim = createClaim(deps, options);
  while (!signal.aborted) {
    const takenMs = clock.monotonic();
    const leads = await claim.take(signal).then(
      () => true,
      (err: unknown) => {
        if (!(err instanceof HeldError)) log.debug({ err }, 'Leadership was not found out');
        return false;
      },
    );
    if (leads) {
      const leading = new AbortController();
      const working = work(AbortSignal.any([signal, leading.signal]));
      await Promise.race([keep(claim, deps, takenMs, signal), working]);
      leading.abort(new Error('this server leads no more'));
      await working;
      await claim.giveUp().catch(() => undefined);
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
  }
}
