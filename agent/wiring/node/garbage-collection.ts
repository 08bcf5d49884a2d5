/** Wires garbage collection: images, dead containers and sandboxes, logs of deleted pods. */
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import type { DiskSpace } from '#eviction/image-gc.ts';
import { spaceIn } from '#volumes/usage/fs-space.ts';
import type { AgentConfig } from '../../config/gen/config.ts';
import { type CollectorDeps, collectUnderPressure, runCollector } from '../../gc/collector.ts';
import { createImageCollector, type ImageCollector } from '../../gc/image-collector.ts';
import type { CollectedImages } from '../../gc/image-remover.ts';
import type { PodManager } from '../../pods/pod-manager.ts';
import { createNodeEventSink } from '../../registration/node-events.ts';
import { PINNED_FILE, pinnedNames } from '../../runtime/managed/pinned-images.ts';
import type { Base } from '../base.ts';
import type { PodSubsystem } from '../pods/pods.ts';
import type { RuntimeSubsystem } from '../runtime.ts';

/** Garbage collection on demand of eviction, and in the background. */
export interface CollectionSubsystem {
  /** Removes every unused and unwanted image above the minimum age.
   *  @returns freed bytes, by the sizes that the runtime reports
   *  @throws CriError */
  readonly deleteUnusedImages: (signal: AbortSignal) => Promise<number>;
  /** Removes dead containers of terminated pods, superfluous ones of other pods, and sandboxes and logs of
   *  deleted pods, whatever their age.
   *  @returns the number of containers
   *  @throws the signal's reason */
  readonly deleteUnusedContainers: (signal: AbortSignal) => Promise<number>;
  /** Images removed since the start of the agent. */
  readonly collectedImages: () => readonly CollectedImages[];
  /** Runs until the signal fires. Never rejects. */
  readonly run: (stop: AbortSignal) => Promise<void>;
}

type PodParts = Pick<PodSubsystem, 'manager' | 'sources' | 'images'>;

/** UIDs of pods that have succeeded or failed. */
const overPods = (manager: PodManager): ReadonlySet<string> =>
  new Set(
    manager
      .entries()
      .filter(({ status: { phase } }) => phase === 'Failed' || phase === 'Succeeded')
      .map(({ pod }) => pod.metadata?.uid ?? ''),
  );

function imagesOf({ spec }: Pod): readonly string[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ image }) => image ?? []);
}

/** Yields images of pods that run or will run. Images of terminated pods are retained only through their
 *  containers. */
function* wantedImages({ manager, sources }: Pick<PodParts, 'manager' | 'sources'>): Iterable<string> {
  const over = overPods(manager);
  for (const { pod } of [...manager.entries(), ...sources.current().pods]) {
    if (!over.has(pod.metadata?.uid ?? '')) yield* imagesOf(pod);
  }
}

/** Resolves when every source has delivered, or the signal fires. */
function sourcesRead(sources: PodParts['sources'], signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (sources.current().complete || signal.aborted) resolve();
  };
  const end = sources.onChange(check);
  signal.addEventListener('abort', check, { once: true });
  check();
  return promise.finally(() => {
    end();
    signal.removeEventListener('abort', check);
  });
}

function imageCollector(
  { config, clock, log, node, events }: Base,
  { connection, imageConnection }: RuntimeSubsystem,
  { manager, sources, images }: PodParts,
): ImageCollector {
  const { images: service } = imageConnection;
  const event = createNodeEventSink(events, node);
  return createImageCollector(
    {
      images: service,
      runtime: connection.runtime,
      wanted: () => wantedImages({ manager, sources }),
      pinned: () => pinnedNames(join(config.rootDir, PINNED_FILE)),
      async space(signal): Promise<DiskSpace | undefined> {
        const { imageFilesystems } = await service.imageFsInfo({}, { signal });
        const path = imageFilesystems[0]?.fsId?.mountpoint ?? '';
        return path === '' ? undefined : spaceIn(await statfs(path));
      },
      removed: (id) => images.invalidateImage(id),
      sourcesRead: (signal) => sourcesRead(sources, signal),
      warn: (reason, message) => event({ type: 'Warning', reason, message }),
      clock,
      log: log.child({ component: 'images' }),
    },
    {
      policy: {
        highPercent: config.imageGCHighThresholdPercent,
        lowPercent: config.imageGCLowThresholdPercent,
        minAgeMs: config.imageMinimumGCAge,
      },
      sandboxImages: [config.podInfraContainerImage],
    },
  );
}

const containerPolicy = (config: AgentConfig) => ({
  maxContainers: config.maximumDeadContainers,
  maxPerContainer: config.maximumDeadContainersPerContainer,
  minAgeMs: config.minimumContainerTtlDuration,
});

export function createCollectionSubsystem(
  base: Base,
  runtimeSubsystem: RuntimeSubsystem,
  podSubsystem: PodParts,
): CollectionSubsystem {
  const { config, clock, log } = base;
  const { manager, sources } = podSubsystem;
  const images = imageCollector(base, runtimeSubsystem, podSubsystem);
  const deps: CollectorDeps = {
    runtime: runtimeSubsystem.connection.runtime,
    links: runtimeSubsystem.links,
    view: runtimeSubsystem.view,
    activePods: () => new Set(manager.workers().map(({ pod }) => pod.metadata?.uid ?? '')),
    overPods: () => overPods(manager),
    sourcesReady: () => sources.current().complete,
    clock,
    log,
  };
  const options = { podLogsDir: config.podLogsDir, policy: containerPolicy(config) };
  return {
    deleteUnusedImages: (signal) => images.deleteUnused(signal),
    deleteUnusedContainers: async (signal) => (await collectUnderPressure(deps, options, signal)).containers,
    collectedImages: () => images.collected(),
    run: async (stop) => {
      await Promise.all([runCollector(deps, options, stop), images.run(stop)]);
    },
  };
}
