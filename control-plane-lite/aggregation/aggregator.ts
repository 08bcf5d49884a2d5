/** API aggregation: routes requests for aggregated groups, adds those groups to discovery, and runs the
 *  background work that keeps both current. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { WorkQueue } from '#api/kit/work-queue.ts';
import type { Identity } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Cache } from '../cache/contract.ts';
import type { OtherContent } from '../controllers/skeleton/settings.ts';
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
import { createRemoteAgent, createWayFinder, remoteTls, type Way } from './remote-server.ts';
import { createServiceSource } from './service-source.ts';

export interface AggregatorDeps {
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** By which this server proves itself to those that it passes requests on to. */
  readonly identity: Identity;
  /** APIServices. */
  readonly resource: Resource;
  /** Shows servers that are long in answering, or away. */
  readonly waits?: Waits | undefined;
}

export interface AggregatorOptions {
  /** To endpoints rather than to the addresses of services. */
  readonly direct: boolean;
  /** Longest wait for the beginning of an answer. */
  readonly answerTimeoutMs: number;
}

export interface Aggregator {
  /** Who answers a request, if it isn't this server. */
  readonly delegate: (request: ApiRequest) => Handler | undefined;
  /** The same array as long as nothing changed. */
  readonly extraGroups: () => readonly ExtraGroup[];
  /** Whether another server has the resource, as far as is known. */
  readonly serves: (info: RequestInfo) => boolean;
  /** The groups' versions of other servers, as they are right now. */
  readonly apis: () => Iterable<RemoteApi>;
  /** What the servers have in namespaces. */
  readonly content: OtherContent;
  /** What the servers say of themselves. */
  readonly documents: OtherDocuments;
  /** Asks the servers, and shows what comes of it, until the signal fires. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Connections and following end. */
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
      const tls = remoteTls(api, deps.identity);
      const result = await checkDiscovery({ api, address, tls }, deps.vocabulary, signal);
      // Documents are loaded in the background.
      if (result.kind === 'answered') void refresh(api, address);
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
  // What is made below is asked for when there is work only.
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
    // The core group, and the one by which all this is set up, are never another's.
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
    content: createRemoteContent({
      apis: () => table.all(),
      resourcesOf: (name) => table.resourcesOf(name),
      findWay,
      identity,
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
