/** Wires the node server. Loaded only by an agent that runs it. */
import { configzBody } from '../../config/effective.ts';
import { createExecCalls } from '../../probes/exec-sync.ts';
import { RUNTIME_WAIT } from '../../runtime/runtime-wait.ts';
import { containerLogs } from '../../server/container-logs.ts';
import { createAgentHealth } from '../../server/health.ts';
import { type NodeServer, type NodeServerDeps, startNodeServer } from '../../server/node/node-server.ts';
import { type CreateReview, createReviews, type Reviews } from '../../server/node/reviews.ts';
import { watchFiles } from '../../server/node/watched-files.ts';
import { attachUrl, execUrl, portForwardUrl, runningContainer } from '../../server/stream-urls.ts';
import type { Base } from '../base.ts';
import type { CollectionSubsystem } from '../node/garbage-collection.ts';
import type { NodeStatsParts } from '../node/node-stats.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import type { ServerAccess } from './server-access.ts';
import { measureServing, servingTls } from './serving-tls.ts';

/** System log directory, served at `/logs/`. */
const SYSTEM_LOGS = '/var/log';

type NodeServerParts = Pick<PodSubsystem, 'manager' | 'probes' | 'localVolumes'> &
  Pick<CollectionSubsystem, 'collectedImages'>;

/** @param access to the API server; undefined without one
 *  @throws Error for an unreadable file, or an address in use */
export async function startNode(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  podSubsystem: NodeServerParts,
  access: ServerAccess | undefined,
  stats: NodeStatsParts,
): Promise<NodeServer> {
  const { config, vocabulary, node } = base;
  const { authentication, authorization } = config;
  return startNodeServer(await serverDeps(base, runtimeSubsystem, podSubsystem, access, stats), {
    address: config.address,
    port: config.port,
    readOnlyPort: config.readOnlyPort,
    nodeName: node,
    metricsPrefix: vocabulary.agentComponent,
    access: {
      tokens: authentication.webhook.enabled,
      anonymous: authentication.anonymous.enabled,
      mode: authorization.mode,
    },
    cipherSuites: config.tlsCipherSuites,
    minVersion: config.tlsMinVersion,
    debuggingHandlers: config.enableDebuggingHandlers,
    profilingHandler: config.enableProfilingHandler,
    debugFlagsHandler: config.enableDebugFlagsHandler,
    systemLogs: config.enableSystemLogHandler ? SYSTEM_LOGS : undefined,
    streamIdleMs: config.streamingConnectionIdleTimeout,
  });
}

async function serverDeps(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  { manager, probes, localVolumes, collectedImages }: NodeServerParts,
  serverAccess: ServerAccess | undefined,
  stats: NodeStatsParts,
): Promise<NodeServerDeps> {
  const { config, vocabulary, clock, log } = base;
  const { connection, view } = runtimeSubsystem;
  const { podLogsDir } = config;
  const { runtime } = connection;
  const defaultContainerKey = vocabulary.defaultContainer;
  const streams = { runtime, view, defaultContainerKey };
  const { execSync } = createExecCalls({ runtime, clock });
  const { clientCAFile } = config.authentication.x509;
  const authorities = clientCAFile === '' ? undefined : await watchFiles({ clock, log }, [clientCAFile]);
  const tls = await servingTls(base, serverAccess);
  measureServing(base, tls);
  return {
    log: log.child({ component: 'server' }),
    health: createAgentHealth({ clock, waits: base.waits, runtimeWait: RUNTIME_WAIT }),
    tls,
    clientAuthorities:
      authorities === undefined
        ? undefined
        : { text: () => authorities.texts().join('\n'), onChange: authorities.onChange },
    localVolumes: serverAccess === undefined ? undefined : localVolumes,
    reviews: serverAccess === undefined ? undefined : reviewsOf(base, serverAccess.create),
    configz: () => configzBody(config),
    setVerbosity: base.setVerbosity,
    entries: () => manager.listed(),
    find: (namespace, name) => manager.find(namespace, name),
    sandboxes: () => view.sandboxes(),
    containers: () => view.containers(),
    probes: () => probes.counts(),
    logs: (entry, query, signal) =>
      containerLogs({ view, podLogsDir, defaultContainerKey }, entry, query, signal),
    exec: (entry, query) => execUrl(streams, entry, query),
    attach: (entry, query) => attachUrl(streams, entry, query),
    portForward: (entry, ports) => portForwardUrl(streams, entry, ports),
    async run(entry, container, command, signal) {
      const { id } = runningContainer(streams, entry, container);
      const { exitCode, stdout, stderr } = await execSync(id, command, 0, signal);
      return { exitCode, output: Buffer.concat([stdout, stderr]).toString('utf8') };
    },
    collect: stats.collect,
    cadvisor: stats.cadvisor,
    collectedImages,
    counted: () => base.metrics.text(),
  };
}

function reviewsOf({ config, clock, vocabulary, node }: Base, create: CreateReview): Reviews {
  const { cacheAuthorizedTTL, cacheUnauthorizedTTL } = config.authorization.webhook;
  return createReviews(
    { create, clock, vocabulary },
    {
      nodeName: node,
      tokenTtlMs: config.authentication.webhook.cacheTTL,
      allowedTtlMs: cacheAuthorizedTTL,
      deniedTtlMs: cacheUnauthorizedTTL,
    },
  );
}
