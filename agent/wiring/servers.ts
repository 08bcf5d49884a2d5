/** What the agent serves: the local socket and the health endpoint. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import type { NodeAddresses } from '../certs/serving-names.ts';
import { configzBody, effectiveSettings } from '../config/effective.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import { listenAt, listenOn } from '../node/start-fault.ts';
import { RUNTIME_WAIT } from '../runtime/runtime-wait.ts';
import { containerLogs } from '../server/container-logs.ts';
import { addEphemeralContainer } from '../server/ephemeral-container.ts';
import { type AgentHealth, createAgentHealth, healthRoutes } from '../server/health.ts';
import { type RunningServer, serveHttp } from '../server/http.ts';
import { localApiRoutes } from '../server/local-api.ts';
import type { CreateReview } from '../server/node/reviews.ts';
import { runsNodeServer } from '../server/node/runs.ts';
import { attachUrl, execUrl, portForwardUrl } from '../server/stream-urls.ts';
import { type DeleteRequest, parseKindWord } from '../sources/applied.ts';
import { formatIdentity, objectIdentity, podIdentity } from '../sources/merge.ts';
import { formatOrigin } from '../sources/report.ts';
import type { DesiredState } from '../sources/types.ts';
import { AGENT_VERSION } from '../version.ts';
import type { Base } from './base.ts';
import type { CollectionSide } from './collection-side.ts';
import type { NodeStatsParts, NodeStatsSources } from './node-stats.ts';
import type { PodSide } from './pod-side.ts';
import type { RuntimeSide } from './runtime-side.ts';

/** What the servers take from an API server, for an agent that has one. */
export interface ServerAccess {
  /** Makes reviews there. */
  readonly create: CreateReview;
  /** By which the node asks there, once it has got in; rejects where it never does. */
  readonly clientConfig: Promise<ResolvedClientConfig>;
  /** By which others reach the node, as it tells there. */
  readonly addresses: NodeAddresses;
}

export async function startServers(
  base: Base,
  runtimeSide: RuntimeSide,
  podSide: PodSide & Pick<NodeStatsSources, 'disk'> & Pick<CollectionSide, 'collectedImages'>,
  access?: ServerAccess,
): Promise<readonly Pick<RunningServer, 'close'>[]> {
  const { config, log } = base;
  const health = healthOf(base);
  const stats = createStatsOnce(base, runtimeSide, podSide);
  const servers: Pick<RunningServer, 'close'>[] = [];
  if (config.healthzPort > 0) {
    const { healthzBindAddress: address, healthzPort: port } = config;
    const place = { portFlag: '--healthz-port', addressFlag: '--healthz-bind-address', address, port };
    servers.push(
      await listenAt(place, () =>
        serveHttp({ log, routes: healthRoutes(health) }, { kind: 'tcp', address, port }),
      ),
    );
  }
  if (runsNodeServer(config, base.origins, access !== undefined)) {
    // It takes memory that a node without it has better uses for.
    const { startNode } = await import('./node-server.ts');
    servers.push(await startNode(base, runtimeSide, podSide, access, await stats()));
  }
  // The last one: who is answered there may count on the others.
  servers.push(await startLocalApi(base, runtimeSide, podSide, stats));
  return servers;
}

const healthOf = ({ clock, waits }: Base): AgentHealth =>
  createAgentHealth({ clock, waits, runtimeWait: RUNTIME_WAIT });

/** Loaded when somebody asks for the first time. */
function createStatsOnce(
  base: Base,
  runtimeSide: RuntimeSide,
  sources: NodeStatsSources,
): () => Promise<NodeStatsParts> {
  let made: Promise<NodeStatsParts> | undefined;
  const make = async (): Promise<NodeStatsParts> => {
    const { createNodeStats } = await import('./node-stats.ts');
    return createNodeStats(base, runtimeSide, sources);
  };
  return () => {
    made ??= make();
    return made;
  };
}

function startLocalApi(
  base: Base,
  { connection, identity, view }: RuntimeSide,
  { manager, objects, sources, applied }: PodSide,
  stats: () => Promise<NodeStatsParts>,
): Promise<RunningServer> {
  const { config, log, vocabulary } = base;
  const { podLogsDir } = config;
  const defaultContainerKey = vocabulary.defaultContainer;
  const streams = { runtime: connection.runtime, view, defaultContainerKey };
  const routes = localApiRoutes({
    pods: () => manager.entries(),
    findPod: (namespace, name) => manager.find(namespace, name),
    waits: () => base.waits.lasting(),
    events: (filter) => base.events.list(filter),
    objects: () => objects.list(),
    desired: () => sources.current(),
    apply: (text) => applied.apply(text),
    // People leave the node's name off that pods of manifests have at their end.
    placeOf: ({ name, ...request }) =>
      manifestPlace(sources.current(), { ...request, name }) ??
      manifestPlace(sources.current(), { ...request, name: `${name}-${base.node}` }),
    remove: async (request, gracePeriodSeconds) => {
      const removed = await applied.delete(request);
      const isPod = parseKindWord(request.kind) === 'Pod';
      const worker = isPod ? manager.worker(request.namespace, request.name) : undefined;
      // A pod on its way out can be told to hurry, wherever it came from.
      const ending = removed || worker?.removing === true;
      if (ending && gracePeriodSeconds !== undefined) worker?.remove(gracePeriodSeconds);
      return ending;
    },
    logs: (entry, query, signal) =>
      containerLogs({ view, podLogsDir, defaultContainerKey }, entry, query, signal),
    exec: (entry, query) => execUrl(streams, entry, query),
    attach: (entry, query) => attachUrl(streams, entry, query),
    portForward: (entry, port) => portForwardUrl(streams, entry, [port]),
    addEphemeralContainer: (entry, text, signal) =>
      addEphemeralContainer({ manager, ...ephemeralRules(base) }, entry, text, signal),
    config: () => configzBody(config),
    summary: async () => (await stats()).collect('rates'),
    pressure: () => base.pressure.conditions(),
    settings: () => effectiveSettings(config, base.origins),
    onPodChange: base.changes.subscribe,
    onEvent: (listener) => base.events.onEvent(listener),
    version: () =>
      Promise.resolve({
        version: AGENT_VERSION,
        runtime: identity.name(),
        runtimeVersion: identity.version(),
      }),
  });
  const { socketPath: path } = config;
  return listenOn('--socket', path, () => serveHttp({ log, routes }, { kind: 'unix', path }));
}

/** `/etc/nodeagent/manifests/web.yaml, document 2`; undefined for what was applied, or is not there. */
function manifestPlace({ pods, objects }: DesiredState, request: DeleteRequest): string | undefined {
  const identity = formatIdentity(parseKindWord(request.kind) ?? '', request.namespace, request.name);
  const origin =
    pods.find((entry) => podIdentity(entry) === identity)?.origin ??
    objects.find((entry) => objectIdentity(entry) === identity)?.origin;
  if (origin === undefined || origin.source === 'socket') return undefined;
  return origin.source === 'api' ? 'the API server' : formatOrigin(origin);
}

const ephemeralRules = ({ config, vocabulary }: Base) => ({
  enabled: featureEnabled(config, 'EphemeralContainers'),
  options: { vocabulary, expandedDNSConfig: featureEnabled(config, 'ExpandedDNSConfig') },
});
