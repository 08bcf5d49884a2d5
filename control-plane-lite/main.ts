/** Composition root of the server: configuration in, parts wired (`wiring/`), running until it is closed. */
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { createWaits } from '#api/kit/waits.ts';
import type { ServerConfig } from './config/settings.ts';
import { vocabularyOf } from './config/vocabulary.ts';
import {
  createKubernetesService,
  type KubernetesService,
} from './controllers/kubernetes-service/controller.ts';
import type { UpdateObserver } from './controllers/skeleton/scope.ts';
import { managerName } from './controllers/workloads-kit/deps.ts';
import { makeDataDir } from './data-dir.ts';
import { shutDown } from './http/shutdown.ts';
import { advertisedAddress, kubernetesServiceAddress, namesOf, urlOf } from './identity/addresses.ts';
import { writeAdminPlatconfig } from './identity/files.ts';
import { keepIdentity, type LiveIdentity } from './identity/keeper.ts';
import { keysDirOf } from './identity/keys-dir.ts';
import { createCompactor } from './store/compactor.ts';
import type { Store } from './store/contract.ts';
import { type Aggregation, createAggregation } from './wiring/aggregation.ts';
import { createBootstrapObjects } from './wiring/bootstrap-objects.ts';
import { createFollow } from './wiring/certificates/follow.ts';
import { runControllers } from './wiring/controllers.ts';
import { type Core, createCore } from './wiring/core.ts';
import { type CustomResources, createCustomResources } from './wiring/custom.ts';
import { openEncryption } from './wiring/encryption.ts';
import { runLed } from './wiring/leader.ts';
import { createNodes, type Nodes, nodeClientName } from './wiring/nodes.ts';
import { startScheduler } from './wiring/scheduler.ts';
import { createServer, type Server } from './wiring/server.ts';
import { startServerIdentity } from './wiring/server-identity.ts';
import { openStore, storeName } from './wiring/store.ts';
import { withCallMetrics } from './wiring/store-metrics.ts';

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** The administrator's platconfig. */
  readonly platconfigFile: string;
  /** Resolves once all bootstrap objects exist: namespaces, roles. */
  readonly ready: Promise<void>;
  /** Rejects when the server can't continue. */
  readonly failed: Promise<never>;
  /** Stops gracefully; `hurry` skips the drain. */
  close(hurry?: AbortSignal): Promise<void>;
}

/** Writes the administrator's platconfig now and whenever its certificates change. Returns its path. */
async function maintainPlatconfig(
  dataDir: string,
  identity: LiveIdentity,
  url: string,
  log: Logger,
): Promise<string> {
  const write = (): Promise<string> => writeAdminPlatconfig(dataDir, identity.current(), url);
  const file = await write();
  identity.onChange(() => {
    write().catch((err: unknown) => log.warn({ err }, 'Failed to write the platconfig'));
  });
  return file;
}

/** Resolves once the server accepts requests. `observeUpdate`: for tests.
 *  @throws StoreError, ConfigError, or Error that names an invalid file */
export async function startServer(
  config: ServerConfig,
  log: Logger,
  observeUpdate?: UpdateObserver,
): Promise<RunningServer> {
  const failed = Promise.withResolvers<never>();
  // The holder of the server handles it; until then a rejection must not count as unhandled.
  failed.promise.catch(() => undefined);
  const waits = createWaits({ clock: systemClock, log });
  await waits.during(`data directory ${config.dataDir}`, makeDataDir(config.dataDir));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => waits.close());
  const followingFiles = undo.adopt(new AbortController(), (controller) => controller.abort());
  const follow = createFollow({ clock: systemClock, log }, followingFiles.signal);
  const metrics = createMetricsRegistry();
  const encryption = await openEncryption(config, metrics, log);
  undo.defer(() => encryption?.close());
  const opened = undo.adopt(
    await waits.during(
      storeName(config),
      openStore(config, log, follow, (error) => failed.reject(error)),
    ),
    (each) => each.close(),
  );
  const measured = withCallMetrics(opened, { registry: metrics, clock: systemClock });
  const store = encryption?.wrap(measured) ?? measured;
  const identity = undo.adopt(
    await keepIdentity({ clock: systemClock, log }, () => ({
      dir: keysDirOf(config),
      ...namesOf(config),
      nodeClientName: nodeClientName(vocabularyOf(config)),
    })),
    (kept) => kept.close(),
  );
  const following = undo.adopt(new AbortController(), (controller) => controller.abort());
  // A failed store will never load, so it is not waited for.
  const core = await Promise.race([
    createCore(config, store, { identity, follow, metrics }, log, following.signal, waits),
    failed.promise,
  ]);
  const custom = createCustomResources(core);
  undo.defer(() => custom.close());
  await custom.begun;
  const beginning: Beginning = { done: false, ...Promise.withResolvers<void>() };
  const reached = { at: urlOf(config, config.securePort) };
  const aggregation = await createAggregation(core);
  undo.defer(() => aggregation?.close());
  const nodes = await createNodes(core, () => Number(new URL(reached.at).port));
  undo.defer(() => nodes.close());
  const server = await createServer(core, {
    routes: [],
    aggregation,
    nodes,
    isReady: () => beginning.done,
    changingChecks: () => encryption?.checks() ?? [],
    serverAddress: () => new URL(reached.at).host,
  });
  const port = await server.api.listen({ host: config.bindAddress, port: config.securePort });
  const url = urlOf(config, port);
  reached.at = url;
  const platconfigFile = await maintainPlatconfig(config.dataDir, identity, url, log);
  const working = new AbortController();
  const parts = { flows: server.flows, aggregation, custom, nodes, port, observeUpdate };
  const work = runBackground(core, parts, beginning, working.signal);
  work.catch((thrown: unknown) => failed.reject(thrown));
  const rest = undo.move();
  log.info({ port, dataDir: config.dataDir, vocabulary: config.vocabulary }, 'Server started');
  return {
    url,
    port,
    platconfigFile,
    ready: beginning.promise,
    failed: failed.promise,
    async close(hurry) {
      await endServing(core, server, hurry);
      working.abort(new Error('server is stopping'));
      await work.catch(() => undefined);
      await rest.disposeAsync();
    },
  };
}

/** Bootstrap objects: namespaces, roles and the like. */
interface Beginning {
  done: boolean;
  /** Resolves once they exist. */
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

interface BackgroundParts {
  readonly flows: Server['flows'];
  readonly aggregation: Aggregation | undefined;
  readonly custom: CustomResources;
  readonly nodes: Nodes;
  readonly port: number;
  readonly observeUpdate: UpdateObserver | undefined;
}

function kubernetesServiceOf({ config, ...core }: Core, port: number): KubernetesService {
  return createKubernetesService(core, {
    port,
    address: advertisedAddress(config),
    clusterIP: kubernetesServiceAddress(config),
    shared: config.etcdServers.length > 0,
  });
}

/** Starts the background work. `beginning` resolves once the bootstrap objects exist. */
async function runBackground(
  core: Core,
  { flows, aggregation, custom, nodes, port, observeUpdate }: BackgroundParts,
  beginning: Beginning,
  signal: AbortSignal,
): Promise<void> {
  const { registry, verbs, vocabulary, access } = core;
  const kubernetesService = kubernetesServiceOf(core, port);
  const sources = {
    port,
    otherContent: aggregation?.content,
    collector: nodes.collector,
    agents: nodes.agents,
    aggregated: aggregation?.autoscaling,
    observeUpdate,
  };
  const control = (until: AbortSignal): Promise<void> => runControllers(core, sources, until);
  const beginAndControl = async (): Promise<void> => {
    await createBootstrapObjects({ registry, verbs, vocabulary }, access.rbac !== undefined, signal);
    await kubernetesService.begin(signal);
    beginning.done = true;
    if (aggregation === undefined) beginning.resolve();
    else void aggregation.begun.then(beginning.resolve);
    await Promise.all([
      runLed(core, { name: managerName(vocabulary), log: core.log }, control, signal),
      startScheduler(core, signal),
      startServerIdentity(core, signal),
      custom.run(signal),
      aggregation?.run(signal),
      kubernetesService.run(signal),
      flows?.run(signal),
    ]);
  };
  await Promise.all([compactorOf(core, core.store).run(signal), beginAndControl()]);
}

function compactorOf({ clock, log, config }: Core, store: Store): ReturnType<typeof createCompactor> {
  return createCompactor(
    {
      currentRevision: () => store.currentRevision(),
      compact: (revision) => store.compact(revision),
      clock,
      onError: (err) => log.warn({ err }, 'Failed to compact history; retrying'),
    },
    { keepMs: config.etcdCompactionInterval },
  );
}

async function endServing({ clock, log, config }: Core, server: Server, hurry?: AbortSignal): Promise<void> {
  const deps = {
    clock,
    log,
    beginShutdown: () => server.health.beginShutdown(),
    close: (options: Parameters<Server['api']['close']>[0]) => server.api.close(options),
  };
  await shutDown(deps, { delayMs: config.shutdownDelayDuration }, hurry);
  await server.close();
}
