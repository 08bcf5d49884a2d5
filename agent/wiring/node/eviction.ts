/** Wires eviction: observation of signals, reclaiming of resources, and eviction of pods. */
import { readFile, stat, statfs } from 'node:fs/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import type { PodStats } from '#api/gen/stats-v1alpha1.ts';
import { sleep, type Timer } from '#api/kit/clock.ts';
import { createEvictionManager, type EvictionManager, type EvictionStanding } from '#eviction/manager.ts';
import { nextCrossingMs } from '#eviction/notify/nearness.ts';
import { memoryWatches } from '#eviction/notify/watches.ts';
import { createFileSystems, type FileSystems } from '#eviction/observe/file-systems.ts';
import { createSignalObserver, type SignalObserver } from '#eviction/observe/observer.ts';
import type { Candidate } from '#eviction/ranking.ts';
import { type PressureCondition, SIGNAL_FACTS, type Signal } from '#eviction/signals.ts';
import { readThresholds, type Threshold } from '#eviction/thresholds.ts';
import type { DiskUsage } from '#volumes/usage/disk-usage.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { PodCgroups } from '../../cgroups/pod-cgroups.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import {
  type CandidateRules,
  diskCandidate,
  liesOn,
  memoryCandidate,
  processCandidate,
} from '../../eviction/candidates.ts';
import { conditionEvents } from '../../eviction/condition-events.ts';
import { endPod } from '../../eviction/end-pod.ts';
import { renewable } from '../../eviction/renewal.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import type { PodEntry } from '../../pods/slot.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import type { Base } from '../base.ts';
import { createIsSpared, isJoined } from '../pods/pressure-rejection.ts';
import type { RuntimeSubsystem } from '../runtime.ts';
import { memoryOfPods } from './eviction-memory.ts';
import type { CollectionSubsystem } from './garbage-collection.ts';

export interface EvictionSubsystem {
  readonly standing: () => EvictionStanding;
  /** Runs until the signal fires. Never rejects. */
  readonly run: (stop: AbortSignal) => Promise<void>;
}

export interface EvictionParts {
  readonly manager: PodManager;
  readonly collection: Pick<CollectionSubsystem, 'deleteUnusedContainers' | 'deleteUnusedImages'>;
  readonly disk: DiskUsage;
  readonly cgroupSubsystem: { readonly cgroups: Pick<PodCgroups, 'allPods' | 'begin' | 'pathOf'> };
}

/** Delay of a second check after a kernel notification, in ms: the kernel notifies repeatedly about the same
 *  shortage, and sometimes a moment too soon. */
const SECOND_CHECK_MS = 250;
/** Runtimes measure writable layers every ten seconds. */
const LAYER_ATTEMPTS = 12;
const LAYER_RETRY_MS = 1000;

const thresholdsOf = (config: AgentConfig): readonly Threshold[] =>
  readThresholds({
    ...config,
    allocatableEnforced: config.cgroupsPerQOS && config.enforceNodeAllocatable.includes('pods'),
  });

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

function fileSystemsOf({ config, clock }: Base, { imageConnection }: RuntimeSubsystem): FileSystems {
  return createFileSystems(
    {
      clock,
      spaceOf: async (path) => spaceIn(await statfs(path)),
      deviceOf: async (path) => (await stat(path)).dev,
      async imageFolders(signal) {
        const { imageFilesystems } = await imageConnection.images.imageFsInfo({}, { signal });
        return imageFilesystems.map(({ fsId }) => fsId?.mountpoint ?? '');
      },
    },
    config,
  );
}

/** Returns pods that have not ended and are not being deleted. */
const running = (manager: PodManager): readonly PodEntry[] =>
  manager.entries().filter(({ end, deletion }) => deletion === undefined && end === undefined);

/** Waits until the runtime has measured all writable layers after this point: it does so periodically, and a
 *  layer filled since the last time would be missed. @throws CriError */
async function layersMeasured(
  { connection, view }: RuntimeSubsystem,
  { clock }: Base,
  signal: AbortSignal,
): Promise<void> {
  const sinceNs = BigInt(clock.now()) * 1_000_000n;
  for (let attempt = 0; attempt < LAYER_ATTEMPTS; attempt += 1) {
    const { stats } = await connection.runtime.listContainerStats({});
    const isOld = stats.some(
      ({ attributes, writableLayer }) =>
        view.container(attributes?.id ?? '')?.state === 'running' &&
        (writableLayer?.timestamp ?? 0n) < sinceNs,
    );
    if (!isOld) return;
    await sleep(clock, LAYER_RETRY_MS, signal);
  }
}

type Candidates = (short: Signal, signal: AbortSignal) => Promise<readonly Candidate<Pod>[]>;

function createCandidates(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  { manager, disk, cgroupSubsystem }: EvictionParts,
  fileSystems: FileSystems,
  observer: Pick<SignalObserver, 'memoryReadings'>,
): Candidates {
  const isSpared = createIsSpared(base);
  let stats: Promise<() => Promise<ReadonlyMap<string, PodStats>>> | undefined;

  async function load(): Promise<() => Promise<ReadonlyMap<string, PodStats>>> {
    // Loaded only under disk or PID pressure.
    const { createNodeStats } = await import('./node-stats.ts');
    const { collect } = await createNodeStats(base, runtimeSubsystem, { manager, disk });
    return async () => new Map((await collect('totals')).pods.map((one) => [one.podRef.uid, one]));
  }
  async function podStats(): Promise<ReadonlyMap<string, PodStats>> {
    stats ??= load();
    return (await stats)();
  }

  return async (short, signal) => {
    const entries = running(manager);
    const spared = new Set(entries.filter((entry) => isSpared(entry)).map(({ pod }) => pod));
    const rules: CandidateRules = { isCritical: (pod) => spared.has(pod) };
    const of = <T>(all: ReadonlyMap<string, T>, { metadata }: Pod): T | undefined =>
      all.get(metadata?.uid ?? '');
    const pods = entries.map(({ pod }) => pod);
    const { scarce } = SIGNAL_FACTS[short];
    if (scarce === 'memory') {
      const hierarchy = observer.memoryReadings().get(short)?.hierarchy;
      const memory = await memoryOfPods(pods, runtimeSubsystem, cgroupSubsystem.cgroups, hierarchy);
      return pods.map((pod) => memoryCandidate(pod, of(memory, pod), rules));
    }
    const lies = liesOn(short, fileSystems.imagesApart());
    if (scarce !== 'pids') {
      await Promise.all([
        disk.measure(),
        lies.layers ? layersMeasured(runtimeSubsystem, base, signal) : undefined,
      ]);
    }
    const known = await podStats();
    if (scarce === 'pids') return pods.map((pod) => processCandidate(pod, of(known, pod), rules));
    return pods.map((pod) => diskCandidate(pod, of(known, pod), lies, short, rules));
  };
}

/** Removes dead containers and unused images, if they are on the file system under pressure. */
async function reclaim(
  { collection }: EvictionParts,
  short: Signal,
  imagesApart: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { scarce } = SIGNAL_FACTS[short];
  if (scarce !== 'disk' && scarce !== 'inodes') return;
  await collection.deleteUnusedContainers(signal);
  if (liesOn(short, imagesApart).layers) await collection.deleteUnusedImages(signal);
}

/** Restarts evicted pods once there is no pressure any more. */
function renewPods({ manager }: EvictionParts, { log }: Base): void {
  for (const entry of manager.entries().filter(renewable)) {
    const { uid = '', name } = entry.pod.metadata ?? {};
    log.info({ pod: name, podUID: uid }, 'Evicted pod scheduled for restart');
    manager.restart(uid);
  }
}

interface Managed {
  readonly manager: EvictionManager;
  readonly observer: SignalObserver;
  readonly thresholds: readonly Threshold[];
}

function createManaged(base: Base, runtimeSubsystem: RuntimeSubsystem, parts: EvictionParts): Managed {
  const { config, clock, log, pressure } = base;
  const thresholds = thresholdsOf(config);
  const fileSystems = fileSystemsOf(base, runtimeSubsystem);
  const observer = createSignalObserver(
    { clock, log, readText, fileSystems, podsCgroup: () => parts.cgroupSubsystem.cgroups.allPods() },
    new Set(thresholds.map(({ signal }) => signal)),
  );
  const event = createNodeEventSink(base.events, base.node);
  const standalone = !isJoined(config);

  function conditionsChanged(conditions: ReadonlySet<PressureCondition>): void {
    // With an API server, the node status reporter sends these events.
    if (standalone) conditionEvents(base.node, pressure.conditions(), conditions).forEach(event);
    pressure.set(conditions);
  }

  const manager = createEvictionManager<Pod>(
    {
      clock,
      log: log.child({ component: 'eviction' }),
      observe: observer.observe,
      reclaim: (short, signal) => reclaim(parts, short, fileSystems.imagesApart(), signal),
      candidates: createCandidates(base, runtimeSubsystem, parts, fileSystems, observer),
      evict: (order, signal) =>
        endPod({ clock, view: runtimeSubsystem.view, manager: parts.manager }, order, signal),
      conditionsChanged,
      evicted: base.counts.evicted,
      thresholdMet: (short) =>
        event({
          type: 'Warning',
          reason: 'EvictionThresholdMet',
          message: `Attempting to reclaim ${SIGNAL_FACTS[short].resource}`,
        }),
      checked: () => {
        if (standalone && pressure.conditions().size === 0) renewPods(parts, base);
      },
      nextCrossingMs: () =>
        config.kernelMemcgNotification ? nextCrossingMs(thresholds, observer.memoryReadings()) : undefined,
    },
    {
      thresholds,
      transitionMs: config.evictionPressureTransitionPeriod,
      maxPodGraceSeconds: config.evictionMaxPodGracePeriod,
      periodMs: config.housekeepingInterval,
    },
  );
  return { manager, observer, thresholds };
}

/** Subscribes to memory notifications of the kernel, until the signal fires. */
async function followNotices(
  base: Base,
  { manager, observer, thresholds }: Managed,
  stop: AbortSignal,
): Promise<void> {
  const { clock } = base;
  const log = base.log.child({ component: 'eviction' });
  const ofMemory = thresholds.filter(({ signal }) => SIGNAL_FACTS[signal].scarce === 'memory');
  if (ofMemory.length === 0) return;
  const { createMemoryNotice } = await import('#eviction/notify/memory-notice.ts');
  let again: Timer | undefined;
  function crossed(): void {
    if (again !== undefined) return;
    log.debug({}, 'Memory threshold notification received');
    manager.wake();
    // Covers notifications in the meantime, and usage that was not visible yet.
    again = clock.setTimer(() => {
      again = undefined;
      manager.wake();
    }, SECOND_CHECK_MS);
  }
  const notice = createMemoryNotice({ log, crossed });
  const end = observer.onObserved(() => notice.watch(memoryWatches(ofMemory, observer.memoryReadings())));
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  end();
  again?.cancel();
  await notice.close();
}

export function createEvictionSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  parts: EvictionParts,
): EvictionSubsystem {
  const managed = createManaged(base, runtimeSubsystem, parts);
  return {
    standing: managed.manager.standing,
    async run(stop) {
      // Resource usage of pods is unknown without the runtime.
      await runtimeSubsystem.connection.whenConnected(stop).catch(() => undefined);
      if (stop.aborted) return;
      await parts.cgroupSubsystem.cgroups.begin();
      const notices = base.config.kernelMemcgNotification ? followNotices(base, managed, stop) : undefined;
      await Promise.all([managed.manager.run(stop), notices]);
    },
  };
}
