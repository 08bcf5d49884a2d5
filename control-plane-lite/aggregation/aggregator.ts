/** API aggregation: routes requests for aggregated groups, adds those groups to discovery, and runs the
 *  background work that keeps both current. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { WorkQueue } from '#api/kit/work-queue.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { AggregatedApis, OtherContent } from '../controllers/skeleton/settings.ts';
import type { ExtraGroup } from '../discovery/groups.ts';
import type { ApiRequest, ApiResponse, Handler, RequestInfo } from '../http/contract.ts';
import type { OtherDocuments } from '../openapi/others.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Verbs } from '../verbs/contract.ts';
import type { RemoteApi } from './api-services.ts';
import { type ApiTable, createApiTable } from './api-table.ts';
import { ownGroup } from './automanaged.ts';
import { createAvailabilityQueue } from './availability-controller.ts';
import { checkDiscovery } from './check-discovery.ts';
import { forwardTo } from './forward.ts';
import { createRemoteContent } from './remote-content.ts';
import { createRemoteDocuments, type RemoteDocuments } from './remote-documents.ts';
import { createRemoteRequests } from './remote-requests.ts';
import { createRemoteAgent, createWayFinder, remoteTls, type Way } from './remote-server.ts';
import { createServiceSource } from './service-source.ts';

export interface AggregatorDeps {
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Client certificate of this server towards aggregated servers. */
  readonly identity: () => Identity;
  /** APIServices. */
  readonly resource: Resource;
  /** Reports slow and unavailable servers. */
  readonly waits?: Waits | undefined;
}

export interface AggregatorOptions {
  /** Whether to connect to endpoints instead of cluster IPs. */
  readonly direct: boolean;
  /** Timeout for the first byte of a response. */
  readonly responseTimeoutMs: number;
}

export interface Aggregator {
  /** Returns the handler of a request that another server serves. */
  readonly delegate: (request: ApiRequest) => Handler | undefined;
  /** The same array as long as nothing changed. */
  readonly extraGroups: () => readonly ExtraGroup[];
  /** Reports whether another server serves the resource, as far as discovery has shown. */
  readonly serves: (info: RequestInfo) => boolean;
  /** Group versions of other servers, read on every call. */
  readonly apis: () => Iterable<RemoteApi>;
  /** Namespace content on the aggregated servers. */
  readonly content: OtherContent;
  /** Requests of the autoscaler to the aggregated servers. */
  readonly autoscaling: AggregatedApis;
  /** OpenAPI documents of the aggregated servers. */
  readonly documents: OtherDocuments;
  /** Checks the servers and publishes the results until the signal is aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Closes connections and stops following the cache. */
  readonly close: () => void;
}

function createQueue(
  deps: AggregatorDeps,
  table: () => ApiTable,
  findWay: (api: RemoteApi) => Way,
  refresh: RemoteDocuments['refresh'],
): WorkQueue {
  return createAvailabilityQueue({
    ...deps,
    find: (name) => table().get(name),
    findWay,
    async check(api, address, signal) {
      const tls = remoteTls(api, deps.identity());
      const result = await checkDiscovery({ api, address, tls }, deps.vocabulary, signal);
      // Documents are loaded in the background.
      if (result.kind === 'available') void refresh(api, address);
      return result;
    },
    onResources: (api, found) => table().setResources(api, found),
  });
}

export function createAggregator(deps: AggregatorDeps, options: AggregatorOptions): Aggregator {
  const { cache, registry, vocabulary, clock, identity } = deps;
  const agent = createRemoteAgent();
  const findWay = createWayFinder((ref) => services.stateOf(ref), options.direct);
  const { waits } = deps;
  const forwarding = {
    ...options,
    findWay,
    identity,
    agent,
    clock,
    domain: vocabulary.apiGroupDomain,
    waits,
  };
  // The callbacks use the objects below only once there is work.
  const ending = new AbortController();
  const documents = createRemoteDocuments({
    apis: () => table.all(),
    get: (name) => table.get(name),
    findWay,
    identity,
    vocabulary,
    log: deps.log,
    signal: ending.signal,
  });
  const queue = createQueue(deps, () => table, findWay, documents.refresh);
  const table: ApiTable = createApiTable({
    cache: cache.resource(deps.resource.storage),
    // The core group and the group of APIService are always served locally.
    own: new Set(['', ownGroup(vocabulary)]),
    onChange: ({ name }) => queue.add(name),
    forward(request): ApiResponse {
      const [, , group = '', version = ''] = request.info.path.split('/');
      const api = table.find(group, version);
      if (api === undefined) throw new Error(`no APIService for ${group}/${version}`);
      return forwardTo(forwarding, api, request);
    },
  });

  const services = createServiceSource({
    cache,
    registry,
    vocabulary,
    onChange(namespace, name) {
      for (const { service, name: api } of table.all()) {
        if (service.name === name && service.namespace === namespace) queue.add(api);
      }
    },
  });
  const remote = {
    apis: () => table.all(),
    resourcesOf: (name: string) => table.resourcesOf(name),
    findWay,
    identity,
  };
  return {
    delegate({ info }) {
      const api = table.find(info.group, info.version);
      return api === undefined ? undefined : (request) => forwardTo(forwarding, api, request);
    },
    extraGroups: () => table.groups(),
    serves({ group, version, resource, subresource }) {
      const api = table.find(group, version);
      const asked = subresource === '' ? resource : `${resource}/${subresource}`;
      return api !== undefined && table.resourcesOf(api.name)?.some(({ name }) => name === asked) === true;
    },
    apis: () => table.all(),
    content: createRemoteContent(remote),
    autoscaling: createRemoteRequests({
      ...remote,
      find: (group, version) => table.find(group, version),
      controller: 'horizontal-pod-autoscaler',
    }),
    documents,
    run: (signal) => queue.run(signal),
    close() {
      ending.abort(new Error('server is stopping'));
      table.close();
      services.close();
      agent.destroy();
    },
  };
}
