/** Renews the lease of the node on dedicated connections: slow requests of other modules must not make the
 *  node appear dead. Source: upstream's lease controller, release 1.24. */

import type { Lease } from '#api/gen/coordination-v1.ts';
import type { Node } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ServerContact } from '../api-client/server-contact.ts';
import { decideLease, type LeaseRules } from './node-lease.ts';
import { readLease } from './read-objects.ts';
import { LEASE_RETRY, untilDone } from './retry.ts';

export interface LeaseRenewalDeps {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'update'>;
  readonly clock: Clock;
  readonly contact: ServerContact;
  /** Resolves with the owner of the lease once the node exists: a lease without an owner would outlive it. */
  readonly whenNode: (signal: AbortSignal) => Promise<Node>;
  /** 0 to 1; for tests. */
  readonly random?: () => number;
}

export interface LeaseRenewalOptions {
  readonly lease: LeaseRules;
  readonly vocabulary: Vocabulary;
}

/** Jitter, without which renewals of many nodes would stay synchronized. */
const JITTER = 0.04;
/** Share of the lease duration after which it is renewed. */
const RENEW_SHARE = 0.25;

/** The cached lease differs from the stored one. */
const isOutdated = (thrown: unknown): boolean =>
  thrown instanceof ApiRequestError && (thrown.status === 409 || thrown.status === 404);

/** Renews until the signal fires. Never rejects. */
export async function runLeaseRenewal(
  deps: LeaseRenewalDeps,
  { lease: rules, vocabulary }: LeaseRenewalOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, whenNode, random = Math.random } = deps;
  const { apiVersion, namespace, nodeName: name } = rules;
  const collection = { apiVersion, resource: 'leases', namespace };
  const address = { ...collection, name };
  const renewMs = rules.durationSeconds * 1000 * RENEW_SHARE;
  let known: Lease | undefined;

  async function find(): Promise<Lease | undefined> {
    try {
      return readLease(await client.get(address, signal), vocabulary);
    } catch (thrown) {
      if (thrown instanceof ApiRequestError && thrown.status === 404) return undefined;
      throw thrown;
    }
  }

  async function write(node: Node): Promise<Lease> {
    const next = { ...decideLease(known, node, rules, clock.now()) };
    const response =
      known === undefined
        ? await client.create(collection, next, signal)
        : await client.update(address, next, signal);
    return readLease(response, vocabulary);
  }

  async function renew(): Promise<void> {
    const node = await whenNode(signal);
    try {
      known ??= await find();
      known = await write(node);
    } catch (thrown) {
      if (!isOutdated(thrown)) throw thrown;
      known = await find();
      known = await write(node);
    }
  }

  try {
    while (!signal.aborted) {
      await untilDone(deps, { subject: 'lease', policy: LEASE_RETRY }, renew, signal);
      await sleep(clock, renewMs * (1 + JITTER * random()), signal);
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
