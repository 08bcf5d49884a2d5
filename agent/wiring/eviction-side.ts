/** Saving the node before the kernel has to: what is measured, what is won back, which pods are ended, wired. */
import { readFile, stat, statfs } from 'node:fs/promises';
import { sleep, type Timer } from '#api/kit/clock.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { PodStats } from '#api/schema/gen/stats-v1alpha1.ts';
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
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import {
  type CandidateRules,
  diskCandidate,
  liesOn,
  memoryCandidate,
  processCandidate,
} from '../eviction/candidates.ts';
import { endPod } from '../eviction/end-pod.ts';
import { conditionEvents } from '../eviction/node-words.ts';
import { renewable } from '../eviction/renewal.ts';
import type { PodEntry, PodManager } from '../pods/pod-manager.ts';
import { createNodeEventSink } from '../registration/node-events.ts';
import type { Base } from './base.ts';
import type { CollectionSide } from './collection-side.ts';
import { memoryOfPods } from './eviction-memory.ts';
import { createIsSpared, isJoined } from './pressure-refusal.ts';
import type { RuntimeSide } from './runtime-side.ts';

export interface EvictionSide {
  readonly standing: () => EvictionStanding;
  /** Until the signal fires. Never rejects. */
  readonly run: (stop: AbortSignal) => Promise<void>;
}

export interface EvictionParts {
  readonly manager: PodManager;
  readonly collection: Pick<CollectionSide, 'deleteUnusedContainers' | 'deleteUnusedImages'>;
  readonly disk: DiskUsage;
  readonly cgroupSide: { readonly cgroups: Pick<PodCgroups, 'allPods' | 'begin' | 'pathOf'> };
}

/** After a notice of the kernel it is looked twice, so many ms apart: it tells of the same shortage often, and sometimes
 *  a moment too soon. */
const SECOND_LOOK_MS = 250;
/** Runtimes measure layers every ten seconds. */
const LAYER_LOOKS = 12;
const LAYER_LOOK_MS = 1000;

const thresholdsOf = (config: AgentConfig): readonly Threshold[] =>
  readThresholds({
    ...config,
    allocatableEnforced: config.cgroupsPerQOS && config.enforceNodeAllocatable.includes('pods'),
  });

const readText = (path: string): Promise<string> => readFile(path, 'utf8');

function fileSystemsOf({ config, clock }: Base, { imageConnection }: RuntimeSide): FileSystems {
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

/** Pods that have not ended, and are not about to. */
const running = (manager: PodManager): readonly PodEntry[] =>
  manager.entries().filter(({ end, deletion }) => deletion === undefined && end === undefined);

/** Waits until the layers of all containers were measured after that time: runtimes do so now and then, and who has
 *  filled one meanwhile would not be seen. @throws CriError */
async function layersMeasured(
  { connection, view }: RuntimeSide,
  { clock }: Base,
  signal: AbortSignal,
): Promise<void> {
  const sinceNs = BigInt(clock.now()) * 1_000_000n;
  for (let look = 0; look < LAYER_LOOKS; look += 1) {
    const { stats } = await connection.runtime.listContainerStats({});
    const isOld = stats.some(
      ({ attributes, writableLayer }) =>
        view.container(attributes?.id ?? '')?.state === 'running' &&
        (writableLayer?.timestamp ?? 0n) < sinceNs,
    );
    if (!isOld) return;
    await sleep(clock, LAYER_LOOK_MS, signal);
  }
}

type Candidates = (short: Signal, signal: AbortSignal) => Promise<readonly Candidate<Pod>[]>;

function createCandidates(
  base: Base,
  runtimeSide: RuntimeSide,
  { manager, disk, cgroupSide }: EvictionParts,
  fileSystems: FileSystems,
  observer: Pick<SignalObserver, 'memoryLooks'>,
): Candidates {
  const isSpared = createIsSpared(base);
  let stats: Promise<() => Promise<ReadonlyMap<string, PodStats>>> | undefined;

  async function load(): Promise<() => Promise<ReadonlyMap<string, PodStats>>> {
    // Loaded by a node that is short of disk or process numbers alone.
    const { createNodeStats } = await import('./node-stats.ts');
    const { collect } = await createNodeStats(base, runtimeSide, { manager, disk });
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
      const hierarchy = observer.memoryLooks().get(short)?.hierarchy;
      const memory = await memoryOfPods(pods, runtimeSide, cgroupSide.cgroups, hierarchy);
      return pods.map((pod) => memoryCandidate(pod, of(memory, pod), rules));
    }
    const lies = liesOn(short, fileSystems.imagesApart());
    if (scarce !== 'pids') {
      await Promise.all([
        disk.measure(),
        lies.layers ? layersMeasured(runtimeSide, base, signal) : undefined,
      ]);
    }
    const known = await podStats();
    if (scarce === 'pids') return pods.map((pod) => processCandidate(pod, of(known, pod), rules));
    return pods.map((pod) => diskCandidate(pod, of(known, pod), lies, short, rules));
  };
}

/** Dead containers and unused images, where they lie on the file system that is short. */
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

/** Lets pods that ended for want of something start again, now that nothing is short. */
function renewPods({ manager }: EvictionParts, { log }: Base): void {
  for (const entry of manager.entries().filter(renewable)) {
    const { uid = '', name } = entry.pod.metadata ?? {};
    log.info({ pod: name, podUID: uid }, 'Pod may run again');
    manager.renew(uid);
  }
}

interface Managed {
  readonly manager: EvictionManager;
  readonly observer: SignalObserver;
  readonly thresholds: readonly Threshold[];
}

function createManaged(base: Base, runtimeSide: RuntimeSide, parts: EvictionParts): Managed {
  const { config, clock, log, pressure } = base;
  const thresholds = thresholdsOf(config);
  const fileSystems = fileSystemsOf(base, runtimeSide);
  const observer = createSignalObserver(
    { clock, log, readText, fileSystems, podsCgroup: () => parts.cgroupSide.cgroups.allPods() },
    new Set(thresholds.map(({ signal }) => signal)),
  );
  const event = createNodeEventSink(base.events, base.node);
  const standalone = !isJoined(config);

  function conditionsChanged(conditions: ReadonlySet<PressureCondition>): void {
    // Beside a server, who tells it of the node's status tells this too.
    if (standalone) conditionEvents(base.node, pressure.conditions(), conditions).forEach(event);
    pressure.set(conditions);
  }

  const manager = createEvictionManager<Pod>(
    {
      clock,
      log: log.child({ component: 'eviction' }),
      observe: observer.observe,
      reclaim: (short, signal) => reclaim(parts, short, fileSystems.imagesApart(), signal),
      candidates: createCandidates(base, runtimeSide, parts, fileSystems, observer),
      evict: (order, signal) =>
        endPod({ clock, view: runtimeSide.view, manager: parts.manager }, order, signal),
      conditionsChanged,
      evicted: base.counts.evicted,
      thresholdMet: (short) =>
        event({
          type: 'Warning',
          reason: 'EvictionThresholdMet',
          message: `Attempting to reclaim ${SIGNAL_FACTS[short].resource}`,
        }),
      looked: () => {
        if (standalone && pressure.conditions().size === 0) renewPods(parts, base);
      },
      nextCrossingMs: () =>
        config.kernelMemcgNotification ? nextCrossingMs(thresholds, observer.memoryLooks()) : undefined,
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

/** Has the kernel tell when memory runs short, until the signal fires. */
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
    log.debug({}, 'The kernel tells of memory');
    manager.wake();
    // What the kernel tells in the meantime, and what was on its way when it told.
    again = clock.setTimer(() => {
      again = undefined;
      manager.wake();
    }, SECOND_LOOK_MS);
  }
  const notice = createMemoryNotice({ log, crossed });
  const end = observer.onObserved(() => notice.watch(memoryWatches(ofMemory, observer.memoryLooks())));
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener('abort', () => resolve(), { once: true });
  });
  end();
  again?.cancel();
  await notice.close();
}

export function createEvictionSide(base: Base, runtimeSide: RuntimeSide, parts: EvictionParts): EvictionSide {
  const managed = createManaged(base, runtimeSide, parts);
  return {
    standing: managed.manager.standing,
    async run(stop) {
      // Without the runtime nobody knows who uses what.
      await runtimeSide.connection.whenConnected(stop).catch(() => undefined);
      if (stop.aborted) return;
      await parts.cgroupSide.cgroups.begin();
      const notices = base.config.kernelMemcgNotification ? followNotices(base, managed, stop) : undefined;
      await Promise.all([managed.manager.run(stop), notices]);
    },
  };
}
