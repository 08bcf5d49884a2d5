/** The composition root of the server: configuration in, parts wired (`wiring/`), running until it is closed. */
import { systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import { advertisedAddress, namesOf, ownServiceAddress, urlOf } from './addresses.ts';
import type { ServerConfig } from './config/settings.ts';
import { createOwnService, type OwnService } from './controllers/own-service/controller.ts';
import { managerName } from './controllers/workloads-kit/deps.ts';
import { makeDataDir } from './data-dir.ts';
import { shutDown } from './http/shutdown.ts';
import { loadIdentity, type ServerIdentity, writeAdminPlatconfig } from './identity/files.ts';
import { createCompactor } from './store/compactor.ts';
import type { Store } from './store/contract.ts';
import { runAccounts } from './wiring/accounts.ts';
import { type Aggregation, createAggregation } from './wiring/aggregation.ts';
import { createBootstrapObjects } from './wiring/bootstrap-objects.ts';
import { runBootstrapTokens } from './wiring/bootstrap-tokens.ts';
import { runCertificates } from './wiring/certificates.ts';
import { runControllers } from './wiring/controllers.ts';
import { type Core, createCore, vocabularyOf } from './wiring/core.ts';
import { type CustomResources, createCustomResources } from './wiring/custom.ts';
import { runLed } from './wiring/leader.ts';
import { createNodes, nodeClientName } from './wiring/nodes.ts';
import { startScheduler } from './wiring/scheduler.ts';
import { createServer, type Server } from './wiring/server.ts';
import { openStore, storeName } from './wiring/store.ts';

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** File with which an administrator gets in. */
  readonly platconfigFile: string;
  /** Resolves when everything is there that a server begins with: namespaces, roles. */
  readonly ready: Promise<void>;
  /** Rejects when the server can't go on. */
  readonly failed: Promise<never>;
  /** Ends in good order; `hurry` ends the waiting for others. */
  close(hurry?: AbortSignal): Promise<void>;
}

/** Resolves once the server takes requests.
 *  @throws StoreError, ConfigError, or Error that names a file which can't be used */
export async function startServer(config: ServerConfig, log: Logger): Promise<RunningServer> {
  const failed = Promise.withResolvers<never>();
  // Whoever holds the server looks; before that, nobody must.
  failed.promise.catch(() => undefined);
  const waits = createWaits({ clock: systemClock, log });
  await waits.during(`data directory ${config.dataDir}`, makeDataDir(config.dataDir));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => waits.close());
  const store = undo.adopt(
    await waits.during(
      storeName(config),
      openStore(config, log, (error) => failed.reject(error)),
    ),
    (opened) => opened.close(),
  );
  const identity = await loadIdentity({
    dir: config.dataDir,
    ...namesOf(config),
    nodeClientName: nodeClientName(vocabularyOf(config)),
    nowMs: systemClock.now(),
  });
  const following = undo.adopt(new AbortController(), (controller) => controller.abort());
  // A store that fails has nothing to load any more, and is not waited for.
  const core = await Promise.race([
    createCore(config, store, identity, log, following.signal, waits),
    failed.promise,
  ]);
  const custom = createCustomResources(core);
  undo.defer(() => custom.close());
  await custom.begun;
  const beginning: Beginning = { done: false, ...Promise.withResolvers<void>() };
  const reached = { at: urlOf(config, config.securePort) };
  const aggregation = createAggregation(core, identity);
  undo.defer(() => aggregation?.close());
  const nodes = await createNodes(core, identity, () => Number(new URL(reached.at).port));
  undo.defer(() => nodes.close());
  const server = await createServer(core, identity, {
    routes: [],
    aggregation,
    nodes,
    isReady: () => beginning.done,
    serverAddress: () => new URL(reached.at).host,
  });
  const port = await server.api.listen({ host: config.bindAddress, port: config.securePort });
  const url = urlOf(config, port);
  reached.at = url;
  const platconfigFile = await writeAdminPlatconfig(config.dataDir, identity, url);
  const working = new AbortController();
  const work = runBackground(
    core,
    { aggregation, custom, ownService: ownServiceOf(core, port), identity, port },
    beginning,
    working.signal,
  );
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

/** What every server begins with: the namespaces, roles and the like. */
interface Beginning {
  done: boolean;
  /** When it is done. */
  readonly promise: Promise<void>;
  readonly resolve: () => void;
}

interface BackgroundParts {
  readonly aggregation: Aggregation | undefined;
  readonly custom: CustomResources;
  readonly ownService: OwnService;
  readonly identity: ServerIdentity;
  readonly port: number;
}

function ownServiceOf({ config, ...core }: Core, port: number): OwnService {
  return createOwnService(core, {
    port,
    address: advertisedAddress(config),
    clusterIP: ownServiceAddress(config),
    shared: config.etcdServers.length > 0,
  });
}

/** What goes on beside the requests. `beginning` is done when what every server begins with is there. */
async function runBackground(
  core: Core,
  { aggregation, custom, ownService, identity, port }: BackgroundParts,
  beginning: Beginning,
  signal: AbortSignal,
): Promise<void> {
  const { registry, verbs, vocabulary, access } = core;
  const { certificate } = identity.authority;
  const control = async (until: AbortSignal): Promise<void> => {
    await Promise.all([
      runControllers(core, aggregation?.content, until),
      runCertificates(core, identity, until),
      runAccounts(core, certificate, until),
      runBootstrapTokens(core, { port, authority: certificate }, until),
    ]);
  };
  const beginAndControl = async (): Promise<void> => {
    await createBootstrapObjects({ registry, verbs, vocabulary }, access.rbac !== undefined, signal);
    await ownService.begin(signal);
    beginning.done = true;
    beginning.resolve();
    await Promise.all([
      runLed(core, { name: managerName(vocabulary), log: core.log }, control, signal),
      startScheduler(core, signal),
      custom.run(signal),
      aggregation?.run(signal),
      ownService.run(signal),
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
      onError: (err) => log.warn({ err }, 'History could not be compacted; it is tried again'),
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
