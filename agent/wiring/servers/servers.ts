/** Starts the servers of the agent: local socket, health endpoint and node server. */

import { configzBody, effectiveSettings } from '../../config/effective.ts';
import { featureEnabled } from '../../config/feature-gates.ts';
import { listenAt, listenOn } from '../../node/start-fault.ts';
import { RUNTIME_WAIT } from '../../runtime/runtime-wait.ts';
import { containerLogs } from '../../server/container-logs.ts';
import { addEphemeralContainer } from '../../server/ephemeral-container.ts';
import { type AgentHealth, createAgentHealth, healthRoutes } from '../../server/health.ts';
import { type RunningServer, serveHttp } from '../../server/http.ts';
import { localApiRoutes } from '../../server/local-api.ts';
import { runsNodeServer } from '../../server/node/runs.ts';
import { withWholeSeconds } from '../../server/node/stats/sample-time.ts';
import { inspectPod, restartContainers } from '../../server/pod-runtime.ts';
import { attachUrl, execUrl, portForwardUrl } from '../../server/stream-urls.ts';
import { type DeleteRequest, parseKindName } from '../../sources/applied/applied.ts';
import { formatIdentity, objectIdentity, podIdentity } from '../../sources/manifest-set.ts';
import { formatOrigin } from '../../sources/report.ts';
import type { DesiredState } from '../../sources/types.ts';
import { AGENT_VERSION } from '../../version.ts';
import type { Base } from '../base.ts';
import type { CollectionSubsystem } from '../node/garbage-collection.ts';
import type { NodeStatsParts, NodeStatsSources } from '../node/node-stats.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import type { ServerAccess } from './server-access.ts';

export async function startServers(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  podSubsystem: PodSubsystem & Pick<NodeStatsSources, 'disk'> & Pick<CollectionSubsystem, 'collectedImages'>,
  access?: ServerAccess,
): Promise<readonly Pick<RunningServer, 'close'>[]> {
  const { config, log } = base;
  const health = healthOf(base);
  const stats = createStatsOnce(base, runtimeSubsystem, podSubsystem);
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
    // Loaded lazily to save memory on nodes without it.
    const { startNode } = await import('./node-server.ts');
    servers.push(await startNode(base, runtimeSubsystem, podSubsystem, access, await stats()));
  }
  // The last one: a response on the socket implies that the others are up.
  servers.push(await startLocalApi(base, runtimeSubsystem, podSubsystem, stats));
  return servers;
}

const healthOf = ({ clock, waits }: Base): AgentHealth =>
  createAgentHealth({ clock, waits, runtimeWait: RUNTIME_WAIT });

/** Loads the statistics on first use. */
function createStatsOnce(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  sources: NodeStatsSources,
): () => Promise<NodeStatsParts> {
  let made: Promise<NodeStatsParts> | undefined;
  const make = async (): Promise<NodeStatsParts> => {
    const { createNodeStats } = await import('../node/node-stats.ts');
    return createNodeStats(base, runtimeSubsystem, sources);
  };
  return () => {
    made ??= make();
    return made;
  };
}

function startLocalApi(
  base: Base,
  { connection, identity, view }: RuntimeSubsystem,
  { manager, objects, sources, applied }: PodSubsystem,
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
    apply: (text, dryRun) => applied.apply(text, { dryRun }),
    applied: () => applied.manifests(),
    // Users omit the node name suffix of static pods.
    placeOf: ({ name, ...request }) =>
      manifestPlace(sources.current(), { ...request, name }) ??
      manifestPlace(sources.current(), { ...request, name: `${name}-${base.node}` }),
    remove: async (request, gracePeriodSeconds) => {
      const removed = await applied.delete(request);
      const isPod = parseKindName(request.kind) === 'Pod';
      const worker = isPod ? manager.worker(request.namespace, request.name) : undefined;
      // A terminating pod of any source can get a shorter grace period.
      const ending = removed || worker?.removing === true;
      if (ending && gracePeriodSeconds !== undefined) worker?.remove(gracePeriodSeconds);
      return ending;
    },
    logs: (entry, query, signal) =>
      containerLogs({ view, podLogsDir, defaultContainerKey }, entry, query, signal),
    inspect: (entry) => inspectPod(streams, entry),
    restart: (entry, container) => restartContainers(streams, entry, container),
    exec: (entry, query) => execUrl(streams, entry, query),
    attach: (entry, query) => attachUrl(streams, entry, query),
    portForward: (entry, port) => portForwardUrl(streams, entry, [port]),
    addEphemeralContainer: (entry, text, signal) =>
      addEphemeralContainer({ manager, ...ephemeralRules(base) }, entry, text, signal),
    config: () => configzBody(config),
    summary: async () => withWholeSeconds(await (await stats()).collect('rates')),
    pressure: () => base.pressure.conditions(),
    settings: () => effectiveSettings(config, base.origins),
    onPodChange: (listener) => base.changes.add(() => listener()),
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

/** Returns `/etc/nodeagent/manifests/web.yaml, document 2`; undefined for an applied or unknown object. */
function manifestPlace({ pods, objects }: DesiredState, request: DeleteRequest): string | undefined {
  const identity = formatIdentity(parseKindName(request.kind) ?? '', request.namespace, request.name);
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
