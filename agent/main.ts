/** The composition root of the daemon: configuration in, parts wired, running until told to stop.
 *  The only place where the parts of the agent meet. */
import { join } from 'node:path';
import { asError, type Clock, sleep, systemClock } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { value as quantityValue } from '#api/meta/quantity.ts';
import { formatTime } from '#api/meta/time.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { watchRuntimeEvents } from '#cri/client/events.ts';
import { createVolumeManager } from '#volumes/manager.ts';
import type { VolumeManager } from '#volumes/types.ts';
import { refusal } from './admission/admit.ts';
import { configzBody, effectiveSettings } from './config/effective.ts';
import { featureEnabled } from './config/feature-gates.ts';
import type { AgentConfig } from './config/gen/config.ts';
import type { Origins } from './config/origin.ts';
import { createEventRecorder, type EventRecorder } from './events/recorder.ts';
import { runCollector } from './gc/collector.ts';
import { runHandler } from './hooks/lifecycle.ts';
import { createImages } from './images/create-images.ts';
import { createLogLinks, type LogLinks } from './logs/links.ts';
import { containerLogPath } from './logs/paths.ts';
import { createLogRotator } from './logs/rotation-manager.ts';
import { createProcessLogger } from './node/logger.ts';
import { hostAddresses, instanceId, nodeName } from './node/node-facts.ts';
import { loadNodeSettings } from './node/node-settings.ts';
import { applyProcessLimits } from './node/process-limits.ts';
import { lockRoot, RootLockedError } from './node/root-lock.ts';
import { createObjectStore, type ObjectStore } from './objects/store.ts';
import { createLastWords } from './observe/last-words.ts';
import { createObserver, type Observer } from './observe/observer.ts';
import { createCriReader } from './observe/read.ts';
import { RuntimeView } from './observe/runtime-view.ts';
import { createStatusReader } from './observe/status-reader.ts';
import { type Changes, createChanges } from './pods/changes.ts';
import { createWorkerFactory } from './pods/factory.ts';
import { createObjectWatcher } from './pods/object-watcher.ts';
import type { NodeSettings, OperationDeps, PodEvent } from './pods/operations/deps.ts';
import { createPodOperations } from './pods/operations/operations.ts';
import { createPodEvent } from './pods/pod-event.ts';
import { createPodFiles, type PodFiles } from './pods/pod-files.ts';
import { PodManager } from './pods/pod-manager.ts';
import { createRecordStore, type RecordStore } from './pods/record.ts';
import { createRestorer } from './pods/restore.ts';
import { runResync } from './pods/resync.ts';
import { createExecSync } from './probes/exec-sync.ts';
import { createProbeManager, type ProbeManager } from './probes/manager.ts';
import { createProbeRunner } from './probes/runner.ts';
import { detectEndpoint } from './runtime/detect-endpoint.ts';
import { createRuntimeIdentity, type RuntimeIdentity } from './runtime/identity.ts';
import { containerLogs } from './server/container-logs.ts';
import { execUrl } from './server/exec-url.ts';
import { healthRoutes } from './server/health.ts';
import { type RunningServer, serveHttp } from './server/http.ts';
import { localApiRoutes } from './server/local-api.ts';
import { type AppliedStore, createAppliedStore, parseKindWord } from './sources/applied.ts';
import { createReader, createSources } from './sources/create-sources.ts';
import { createSourceManager, type SourceManager } from './sources/manager.ts';
import { createSourceReporter } from './sources/report.ts';
import { openDatagramSender } from './systemd/datagram.ts';
import { createSystemdNotifier, parseNotifyEnvironment } from './systemd/notify.ts';
import { AGENT_VERSION } from './version.ts';

export interface RunExtras {
  /** Deprecated flags and the like, each told once. */
  readonly warnings: readonly string[];
  /** Where each setting comes from. */
  readonly origins: Origins;
}

/** What every part is handed. */
interface Base {
  readonly config: AgentConfig;
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly log: Logger;
  readonly node: string;
  readonly settings: NodeSettings;
  readonly events: EventRecorder;
  /** Of pods, for those who follow them. */
  readonly changes: Changes;
  readonly origins: Origins;
}

/** The runtime and what is known of it. */
interface RuntimeSide {
  readonly connection: CriConnection;
  /** The same one unless the image service has an endpoint of its own. */
  readonly imageConnection: CriConnection;
  readonly identity: RuntimeIdentity;
  readonly view: RuntimeView;
  readonly observer: Observer;
  readonly files: PodFiles;
  readonly links: LogLinks;
}

/** The pods and what they are made from. */
interface PodSide {
  readonly manager: PodManager;
  readonly objects: ObjectStore;
  readonly volumes: VolumeManager;
  readonly probes: ProbeManager;
  readonly records: RecordStore;
  readonly sources: SourceManager;
  readonly applied: AppliedStore;
}

/** A runtime that never answers is asked again after this, in ms. */
const FIRST_LOOK_RETRY_MS = 500;

/** Time for operations under way to come to rest after the signal, in ms. */
const DRAIN_MS = 700;

/** Runs the agent until SIGTERM or SIGINT. Returns the exit code. */
export async function runAgent(config: AgentConfig, extras: RunExtras): Promise<number> {
  const node = nodeName(config.hostnameOverride);
  const log = createProcessLogger(config.logging.verbosity, { node });
  for (const warning of extras.warnings) log.warn({}, warning);
  try {
    await using lock = await lockRoot(config.rootDir);
    log.debug({ fd: lock.fd }, 'Root directory was locked');
    await runLocked(config, extras.origins, node, log);
    return 0;
  } catch (thrown) {
    const err = asError(thrown);
    log.error({ err }, err instanceof RootLockedError ? 'Agent was not started' : 'Agent failed');
    return 1;
  }
}

async function runLocked(config: AgentConfig, origins: Origins, node: string, log: Logger): Promise<void> {
  const stop = stopSignal(log);
  await applyProcessLimits(config, log);
  const base = await createBase(config, origins, node, log);
  const runtimeSide = await createRuntimeSide(base);
  const podSide = await createPodSide(base, runtimeSide);
  const servers = await startServers(base, runtimeSide, podSide);
  const notifier = await createSystemdNotifier(
    { clock: base.clock, log, openSender: openDatagramSender },
    parseNotifyEnvironment(process.env, process.pid),
  );
  notifier.ready(`Node ${node} is up`);
  log.info({ version: AGENT_VERSION, instance: base.settings.owner.instance }, 'Agent started');
  const work = runAll(base, runtimeSide, podSide, stop);
  const watchdog = notifier.runWatchdog(stop);
  await aborted(stop);
  notifier.stopping('Stopping; pods keep running');
  podSide.probes.stop();
  await within(base.clock, DRAIN_MS, Promise.all([work, watchdog, podSide.manager.stopped()]));
  await Promise.all(servers.map((server) => server.close()));
  runtimeSide.connection.close();
  runtimeSide.imageConnection.close();
  log.info({}, 'Agent stopped; pods keep running');
}

function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    log.info({ signal: name }, 'Agent was told to stop');
    stop.abort(new Error('agent is stopping'));
  };
  process.once('SIGTERM', onSignal);
  process.once('SIGINT', onSignal);
  return stop.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** Waits for the work, but no longer than that. Leaves no timer behind that would keep the process alive. */
async function within(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const timer = clock.setTimer(limit.resolve, limitMs);
  await Promise.race([work, limit.promise]);
  timer.cancel();
}

async function createBase(config: AgentConfig, origins: Origins, node: string, log: Logger): Promise<Base> {
  const clock = systemClock;
  const vocabulary = VOCABULARIES[config.vocabulary];
  const instance = await instanceId(config.rootDir);
  const settings = await loadNodeSettings(config, { instance, hostIPs: hostAddresses(config.nodeIP) });
  const events = createEventRecorder({ clock, log, node, vocabulary });
  const changes = createChanges();
  return { config, vocabulary, clock, log, node, settings, events, changes, origins };
}

async function createRuntimeSide({ config, vocabulary, clock, log, settings }: Base): Promise<RuntimeSide> {
  const endpoint = await detectEndpoint(config.containerRuntimeEndpoint);
  const imageEndpoint = config.imageServiceEndpoint || endpoint;
  const requestTimeoutMs = config.runtimeRequestTimeout;
  const connection = connectRuntime({ endpoint, log, requestTimeoutMs });
  const imageConnection =
    imageEndpoint === endpoint
      ? connection
      : connectRuntime({ endpoint: imageEndpoint, log, requestTimeoutMs });
  const view = new RuntimeView();
  const { podLogsDir, clusterDomain } = config;
  const files = createPodFiles({ podsDir: join(config.rootDir, 'pods'), clusterDomain, vocabulary });
  const terminationMessage = createLastWords({ view, podLogsDir, files, log });
  const read = createCriReader(settings.owner);
  const { runtime } = connection;
  const statuses = createStatusReader({ runtime, read, terminationMessage });
  const events = (signal: AbortSignal) => watchRuntimeEvents(connection, { clock, log, signal });
  const observer = createObserver({ runtime, read, statuses, view, clock, log, events });
  const identity = createRuntimeIdentity(runtime);
  const links = createLogLinks({ log }, config.containerLogsDir);
  return { connection, imageConnection, identity, view, observer, files, links };
}

async function createPodSide(base: Base, runtimeSide: RuntimeSide): Promise<PodSide> {
  const { config, vocabulary, clock, log, node, settings } = base;
  const { identity, view } = runtimeSide;
  const event = createPodEvent(base.events);
  const objects = createObjectStore({ log });
  const { rootDir } = config;
  const { allocatable } = settings;
  const volumes = createVolumeManager({ rootDir, objects, clock, log, vocabulary, allocatable });
  const records = createRecordStore(join(rootDir, 'pods'));
  const probes = createProbes(base, runtimeSide, event, (podUID) => wakePod(podUID));
  const operations = createPodOperations(await operationDeps(base, runtimeSide, { event, objects, volumes }));
  const createWorker = createWorkerFactory({
    clock,
    log,
    view,
    operations,
    probes,
    records,
    event,
    hostIPs: settings.hostIPs,
    runtimeName: () => identity.name(),
    keepTerminatedVolumes: config.keepTerminatedPodVolumes,
    changed: base.changes.tell,
  });
  const limits = { ...config, cores: allocatable()['cpu'] ?? 1 };
  const refuse = (pod: Pod, others: readonly Pod[]) => refusal(pod, others, limits);
  const versionOf = (pod: { metadata?: { uid?: string; annotations?: Readonly<Record<string, string>> } }) =>
    `${pod.metadata?.uid}/${pod.metadata?.annotations?.[vocabulary.configHash]}`;
  const manager = new PodManager({
    clock,
    log,
    createWorker,
    versionOf,
    changed: base.changes.tell,
    forget: (podUID) => records.remove(podUID),
    refuse,
  });
  const wakePod = (podUID: string): void =>
    manager
      .workers()
      .find(({ pod }) => pod.metadata?.uid === podUID)
      ?.wake();
  const userAgent = `${vocabulary.agentComponent}/${AGENT_VERSION}`;
  const deps = { clock, log, nodeName: node, userAgent };
  const applied = createAppliedStore({
    clock,
    log,
    nodeName: node,
    vocabulary,
    dir: join(rootDir, 'applied'),
  });
  const sources = createSourceManager({
    sources: [...createSources(deps, createReader(deps, config), config), applied],
    clock,
    log,
  });
  const report = createSourceReporter({
    log,
    node,
    event: (involved, type, reason, message) => base.events.event(involved, type, reason, message),
  });
  createObjectWatcher({ objects, sources, manager, volumes, report, log });
  return { manager, objects, volumes, probes, records, sources, applied };
}

interface PodParts {
  readonly event: PodEvent;
  readonly objects: ObjectStore;
  readonly volumes: VolumeManager;
}

async function operationDeps(base: Base, runtimeSide: RuntimeSide, parts: PodParts): Promise<OperationDeps> {
  const { config, clock, log, settings } = base;
  const { connection, imageConnection, view, observer, files, links } = runtimeSide;
  const { runtime } = connection;
  const podIP = addressOf(view, settings);
  const execSync = createExecSync(runtime);
  const { userAgent } = probeIdentity(base);
  return {
    ...parts,
    runtime,
    images: await createImages({ images: imageConnection.images, clock, log, env: process.env }, config),
    view,
    observer,
    files,
    links,
    runHandler: (handler, target, signal) =>
      runHandler({ execSync, podIP, userAgent }, handler, target, signal),
    starts: createLimiter(config.maxParallelStarts > 0 ? config.maxParallelStarts : defaultStarts(settings)),
    settings,
    clock,
    log,
  };
}

/** Four per core: measured to be the rate at which runtimes start most pods per second. */
const defaultStarts = (settings: NodeSettings): number => 4 * (settings.allocatable()['cpu'] ?? 1);

const probeIdentity = ({ vocabulary }: Base): { userAgent: string } => ({
  userAgent: `${vocabulary.probeUserAgent}/${AGENT_VERSION}`,
});

const addressOf =
  (view: RuntimeView, settings: NodeSettings) =>
  (pod: { spec?: { hostNetwork?: boolean }; metadata?: { uid?: string } }): string => {
    if (pod.spec?.hostNetwork === true) return settings.hostIPs()[0] ?? '';
    return view.pod(pod.metadata?.uid ?? '').sandboxes[0]?.ips[0] ?? '';
  };

function createProbes(
  base: Base,
  { connection }: RuntimeSide,
  event: PodEvent,
  onChange: (podUID: string) => void,
): ProbeManager {
  const run = createProbeRunner({ execSync: createExecSync(connection.runtime), ...probeIdentity(base) });
  return createProbeManager(
    { clock: base.clock, run, onChange, event },
    { probeGracePeriod: featureEnabled(base.config, 'ProbeTerminationGracePeriod') },
  );
}

/** Everything that runs for as long as the agent does. Nothing is decided before the runtime was seen once. */
async function runAll(
  base: Base,
  { connection, identity, view, observer, links }: RuntimeSide,
  { manager, sources, records, volumes }: PodSide,
  stop: AbortSignal,
): Promise<void> {
  const { config, clock, log } = base;
  const running = [sources.run(stop)];
  await firstLook({ connection, identity, observer, clock, log }, stop);
  if (!stop.aborted) {
    const restore = createRestorer({ view, records, volumes, log });
    manager.restore(await restore());
    manager.apply(sources.current());
    manager.start(stop);
    const activePods = (): ReadonlySet<string> =>
      new Set(manager.workers().map(({ pod }) => pod.metadata?.uid ?? ''));
    const sourcesReady = (): boolean => sources.current().complete;
    const { runtime } = connection;
    running.push(
      observer.run(stop),
      runCollector(
        { runtime, links, view, activePods, sourcesReady, clock, log },
        { podLogsDir: config.podLogsDir, policy: gcPolicy(config) },
        stop,
      ),
      rotateLogs(base, { connection, view }, stop),
      runResync(
        { workers: () => manager.workers(), refresh: (pod) => volumes.refreshPod(pod), clock, log },
        config.syncFrequency,
        stop,
      ),
    );
  }
  await Promise.all(running);
}

type FirstLookParts = Pick<RuntimeSide, 'connection' | 'identity' | 'observer'> & Pick<Base, 'clock' | 'log'>;

async function firstLook(
  { connection, identity, observer, clock, log }: FirstLookParts,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    try {
      await connection.whenConnected(stop);
      await identity.load(stop);
      return await observer.relist(stop);
    } catch (err) {
      if (stop.aborted) return;
      log.warn({ err, retryMs: FIRST_LOOK_RETRY_MS }, 'Container runtime could not be read');
      await sleep(clock, FIRST_LOOK_RETRY_MS, stop).catch(() => undefined);
    }
  }
}

const gcPolicy = (config: AgentConfig) => ({
  maxContainers: config.maximumDeadContainers,
  maxPerContainer: config.maximumDeadContainersPerContainer,
  minAgeMs: config.minimumContainerTtlDuration,
});

async function rotateLogs(
  { config, clock, log }: Base,
  { connection, view }: Pick<RuntimeSide, 'connection' | 'view'>,
  stop: AbortSignal,
): Promise<void> {
  const { podLogsDir, containerLogMaxFiles: maxFiles } = config;
  const listRunning = () =>
    view.containers().flatMap(({ id, podUID, name, attempt, state, sandboxId }) => {
      const sandbox = view.sandbox(sandboxId);
      if (state !== 'running' || sandbox === undefined) return [];
      const pod = { namespace: sandbox.podNamespace, name: sandbox.podName, podUID };
      return [{ containerID: id, logPath: containerLogPath(podLogsDir, pod, name, attempt) }];
    });
  const rotator = createLogRotator(
    {
      clock,
      log,
      listRunning,
      reopenContainerLog: async (containerId, signal) => {
        await connection.runtime.reopenContainerLog({ containerId }, { signal });
      },
    },
    { podLogsDir, maxSizeBytes: quantityValue(config.containerLogMaxSize), maxFiles },
  );
  await rotator.run(stop);
}

async function startServers(
  base: Base,
  { connection, identity, view }: RuntimeSide,
  { manager, objects, sources, applied }: PodSide,
): Promise<readonly RunningServer[]> {
  const { config, log, clock, vocabulary } = base;
  const { podLogsDir } = config;
  const defaultContainerKey = vocabulary.defaultContainer;
  const routes = localApiRoutes({
    pods: () => manager.entries(),
    findPod: (namespace, name) => manager.find(namespace, name),
    events: (filter) => base.events.list(filter),
    objects: () => objects.list(),
    desired: () => sources.current(),
    apply: (text) => applied.apply(text),
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
    exec: (entry, query) => execUrl({ runtime: connection.runtime, view, defaultContainerKey }, entry, query),
    config: () => configzBody(config),
    settings: () => effectiveSettings(config, base.origins),
    onPodChange: base.changes.subscribe,
    onEvent: (listener) => base.events.onEvent(listener),
    version: () =>
      Promise.resolve({
        version: AGENT_VERSION,
        runtime: identity.name(),
        runtimeVersion: identity.version(),
      }),
    nowText: () => formatTime(clock.now()),
  });
  const servers = [await serveHttp({ log, routes }, { kind: 'unix', path: config.socketPath })];
  if (config.healthzPort > 0) {
    const { healthzBindAddress: address, healthzPort: port } = config;
    servers.push(await serveHttp({ log, routes: healthRoutes() }, { kind: 'tcp', address, port }));
  }
  return servers;
}
