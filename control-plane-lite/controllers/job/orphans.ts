/** Removes the tracking finalizer from pods whose job no longer exists. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Cache } from '../../cache/contract.ts';
import type { Children } from '../workloads-kit/children.ts';
import type { Owners } from '../workloads-kit/owners.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { createKeyQueue } from '../workloads-kit/run-keys.ts';

export interface OrphanReleaseDeps {
  readonly cache: Pick<Cache, 'waitForNewest'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly pods: Children<PodFacts>;
  /** The jobs. */
  readonly owners: Owners;
  readonly isHeld: (pod: PodFacts) => boolean;
  readonly release: (pod: PodFacts) => Promise<void>;
}

export function createOrphanRelease(deps: OrphanReleaseDeps): { run(signal: AbortSignal): Promise<void> } {
  const { pods, owners, isHeld, release } = deps;
  const isLeft = (pod: PodFacts): boolean => owners.byReference(pod.owner) === undefined && isHeld(pod);
  const queue = createKeyQueue(deps, async (key) => {
    // Its job may not be in the cache yet.
    await deps.cache.waitForNewest();
    const pod = pods.get(key);
    if (pod !== undefined && isLeft(pod)) await release(pod);
    return undefined;
  });
  return {
    async run(signal) {
      const following = pods.onChange(({ current }) => {
        if (current?.deleting === true && isLeft(current)) queue.add(current.key);
      });
      for (const pod of pods.all()) if (pod.deleting && isLeft(pod)) queue.add(pod.key);
      await queue.run(signal);
      following.close();
    },
  };
}
