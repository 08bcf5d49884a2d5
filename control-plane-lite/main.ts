/** The composition root of the server: configuration in, parts wired (`wiring/`), running until told to stop. */

import { mkdir } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { asError, systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createProcessLogger } from '#api/kit/process-logger.ts';
import type { ServerConfig } from './config/settings.ts';
import { shutDown } from './http/shutdown.ts';
import { loadIdentity, type ServerIdentity } from './identity/files.ts';
import { createCompactor } from './store/compactor.ts';
import { createBootstrapObjects } from './wiring/bootstrap-objects.ts';
import { runControllers } from './wiring/controllers.ts';
import { type Core, createCore, vocabularyOf } from './wiring/core.ts';
import { createServer, type Server } from './wiring/server.ts';
import { openStore } from './wiring/store.ts';

export interface RunDeps {
  /** Told where the server is, once it serves. */
  readonly announce: (line: string) => void;
  readonly signal: AbortSignal;
  /** Fires when the end should wait for nobody. */
  readonly hurry?: AbortSignal;
}

/** Runs the server until the signal. Returns the exit code. */
export async function runServer(config: ServerConfig, deps: RunDeps): Promise<number> {
  const log = createProcessLogger(config.verbosity, { component: 'control-plane-lite' });
  process.on('unhandledRejection', (thrown: unknown) => {
    log.error({ err: asError(thrown) }, 'Background work failed unheard');
  });
  try {
    await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
    await serve(config, log, deps);
    return 0;
  } catch (thrown) {
    log.error({ err: asError(thrown) }, 'Server failed');
    return 1;
  }
}

async function serve(config: ServerConfig, log: Logger, deps: RunDeps): Promise<void> {
  const failed = Promise.withResolvers<never>();
  const following = new AbortController();
  const store = await openStore(config, log, (error) => failed.reject(error));
  try {
    const identity = await loadIdentity({
      dir: config.dataDir,
      ...namesOf(config),
      url: urlOf(config, config.securePort),
      nowMs: systemClock.now(),
    });
    const core = await createCore(config, store, identity, log, following.signal);
    await run(core, identity, deps, failed.promise);
  } finally {
    following.abort();
    await store.close();
  }
}

async function run(
  core: Core,
  identity: ServerIdentity,
  deps: RunDeps,
  failed: Promise<never>,
): Promise<void> {
  const { config, log, clock, store } = core;
  const working = new AbortController();
  let ready = false;
  const server = await createServer(core, identity, { routes: [], isReady: () => ready });
  const port = await server.api.listen({ host: config.bindAddress, port: config.securePort });
  const compactor = createCompactor(
    {
      currentRevision: () => store.currentRevision(),
      compact: (revision) => store.compact(revision),
      clock,
      onError: (err) => log.warn({ err }, 'History could not be compacted; it is tried again'),
    },
    { keepMs: config.etcdCompactionInterval },
  );
  const beginAndWork = async (): Promise<void> => {
    await begin(core, working.signal);
    ready = true;
    await runControllers(core, working.signal);
  };
  const work = Promise.all([compactor.run(working.signal), beginAndWork()]);
  log.info({ port, dataDir: config.dataDir, vocabulary: config.vocabulary }, 'Server started');
  deps.announce(announcement(config, port, identity));
  await Promise.race([aborted(deps.signal), failed, work.then(() => aborted(deps.signal))]);
  await stop(core, server, deps);
  working.abort();
  await work.catch((thrown: unknown) => {
    if (!working.signal.aborted) throw thrown;
  });
}

async function begin(core: Core, signal: AbortSignal): Promise<void> {
  const { registry, verbs, vocabulary, access } = core;
  await createBootstrapObjects({ registry, verbs, vocabulary }, access.rbac !== undefined, signal);
}

async function stop({ clock, log, config }: Core, server: Server, deps: RunDeps): Promise<void> {
  await shutDown(
    {
      clock,
      log,
      beginShutdown: () => server.health.beginShutdown(),
      close: (options) => server.api.close(options),
    },
    { delayMs: config.shutdownDelayDuration },
    deps.hurry,
  );
  server.close();
}

const isAny = (address: string): boolean => address === '0.0.0.0' || address === '::';

function machineAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((each) =>
    (each ?? []).filter(({ scopeid }) => (scopeid ?? 0) === 0).map(({ address }) => address),
  );
}

/** Where clients connect to: what is advertised, else what is bound, else loopback. */
function hostOf({ advertiseAddress, bindAddress }: ServerConfig): string {
  if (advertiseAddress !== '') return advertiseAddress;
  return isAny(bindAddress) ? '127.0.0.1' : bindAddress;
}

function urlOf(config: ServerConfig, port: number): string {
  const host = hostOf(config);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

const isAddress = (text: string): boolean => /^[\d.]+$/.test(text) || text.includes(':');

/** Names and addresses that the certificate is for. */
function namesOf(config: ServerConfig): {
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
} {
  const { apiService } = vocabularyOf(config);
  const service = ['', '.default', '.default.svc', '.default.svc.cluster.local'].map(
    (end) => `${apiService}${end}`,
  );
  const bound = isAny(config.bindAddress) ? machineAddresses() : [config.bindAddress];
  const all = ['localhost', ...service, '127.0.0.1', ...bound, hostOf(config), ...config.certSANs];
  return {
    dnsNames: [...new Set(all.filter((name) => !isAddress(name)))],
    ipAddresses: [...new Set(all.filter(isAddress))],
  };
}

function announcement(config: ServerConfig, port: number, { platconfigFile }: ServerIdentity): string {
  return `control-plane-lite serves ${urlOf(config, port)}; use it with: kubectl --kubeconfig ${platconfigFile} get namespaces`;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
