/** The Service by which pods reach the API server, and the endpoints behind it, reconciled while the server
 *  runs. Servers that share a store each add their address and withdraw it on shutdown. Source: upstream's
 *  controller of the `default` namespace. */

import type { Service } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createTokenBucket } from '#api/kit/token-bucket.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { nonSpecialIpErrors } from '#api/meta/ip.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import {
  addressesOf,
  addressesWith,
  endpointsObject,
  hasMembers,
  NAMESPACE,
  serviceObject,
  sliceObject,
  withOwn,
} from './objects.ts';

export interface ServiceDeps {
  readonly registry: Pick<ResourceRegistry, 'find'>;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
}

export interface ServiceOptions {
  /** Address under which other machines reach the server. */
  readonly address: string;
  readonly port: number;
  /** The first address of the service range; absent: any. */
  readonly clusterIP: string | undefined;
  /** Other servers use the same store. */
  readonly shared: boolean;
}

export interface KubernetesService {
  /** Creates missing objects and corrects different ones. `run` retries failures. */
  begin(signal: AbortSignal): Promise<void>;
  /** Runs until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
}

const MANAGER = 'apiserver';
const WITHDRAW_MS = 2000;
/** Servers with different ports would correct each other's writes forever: they may do so often for a moment,
 *  then only at intervals. */
const ATTEMPTS = { ratePerSecond: 0.5, burst: 10 };
const NEXT_ATTEMPT_MS = 2000;

export function createKubernetesService(deps: ServiceDeps, options: ServiceOptions): KubernetesService {
  const { registry, cache, vocabulary } = deps;
  const name = vocabulary.apiService;
  const key = `${NAMESPACE}/${name}`;
  const { port } = options;
  // A loopback address would lead every client to itself.
  const reachable = nonSpecialIpErrors(options.address).length === 0;
  const services = registry.find('', 'v1', 'services');
  const endpoints = registry.find('', 'v1', 'endpoints');
  const slices = registry.find(`discovery.${vocabulary.apiGroupDomain}`, 'v1', 'endpointslices');

  /** Creates the object, or updates these members of it. */
  async function reconcileObject(resource: Resource, wanted: ApiObject, signal: AbortSignal): Promise<void> {
    const live = cache.resource(resource.storage).get(key)?.object();
    if (live !== undefined && hasMembers(live, wanted)) return;
    const { metadata, apiVersion, kind, ...members } = resource.schema.decode(wanted).object;
    const ref = { resource, namespace: NAMESPACE, name };
    const change = (found: ApiObject | undefined): ApiObject =>
      found === undefined ? { ...members, metadata, apiVersion, kind } : withOwn(found, members, wanted);
    const caller = controllerCaller(MANAGER, signal);
    await deps.verbs.update({ ref, change, dryRun: false, fieldManager: MANAGER, allowCreate: true, caller });
  }

  async function isTaken(resource: Resource, clusterIP: string): Promise<boolean> {
    const { items } = await cache.resource(resource.storage).list({ labels: [], fields: [] });
    return items.some((item) => typed<Service>(item.object()).spec?.clusterIP === clusterIP);
  }

  async function reconcileService(signal: AbortSignal): Promise<void> {
    if (services === undefined) return;
    const wanted = (clusterIP: string | undefined): ApiObject => serviceObject(name, port, clusterIP);
    try {
      await reconcileObject(services, wanted(options.clusterIP), signal);
    } catch (thrown) {
      if (!(thrown instanceof StatusError && thrown.reason === 'Invalid')) throw thrown;
      // An address that was released a moment ago may not be available yet.
      if (options.clusterIP === undefined || !(await isTaken(services, options.clusterIP))) throw thrown;
      await reconcileObject(services, wanted(undefined), signal);
    }
  }

  async function reconcileEndpoints(by: 1 | -1, signal: AbortSignal): Promise<void> {
    if (!reachable) return;
    const known = endpoints === undefined ? undefined : cache.resource(endpoints.storage).get(key)?.object();
    const addresses = addressesWith(addressesOf(known), options, by);
    if (endpoints !== undefined) {
      await reconcileObject(endpoints, endpointsObject(vocabulary, addresses, port), signal);
    }
    if (slices !== undefined) await reconcileObject(slices, sliceObject(vocabulary, addresses, port), signal);
  }

  async function reconcile(signal: AbortSignal): Promise<void> {
    await cache.waitForNewest();
    await reconcileService(signal);
    await reconcileEndpoints(1, signal);
  }

  const logFailure = (err: Error): void =>
    deps.log.warn({ err }, 'Failed to reconcile kubernetes Service; retrying');

  return {
    begin: (signal) => reconcile(signal).catch((thrown: unknown) => logFailure(asError(thrown))),
    async run(signal) {
      const attempts = createTokenBucket(deps.clock, ATTEMPTS);
      const queue = createWorkQueue({
        clock: deps.clock,
        async work() {
          if (!attempts.tryTake()) return NEXT_ATTEMPT_MS;
          await reconcile(signal);
          return undefined;
        },
        onError: (_, err) => logFailure(err),
      });
      queue.add(key);
      const followed = [services, endpoints, slices].flatMap((resource) =>
        resource === undefined
          ? []
          : [cache.resource(resource.storage).follow(({ current }) => current.key === key && queue.add(key))],
      );
      await queue.run(signal);
      for (const handle of followed) handle.close();
      if (!options.shared) return;
      await reconcileEndpoints(-1, AbortSignal.timeout(WITHDRAW_MS)).catch((thrown: unknown) =>
        deps.log.warn({ err: asError(thrown) }, 'Failed to withdraw server address from kubernetes Service'),
      );
    },
  };
}
