/** Reconciles the cpusets of containers with their assignments: immediately on a change, and periodically for
 *  changes by others. Calls the runtime only for differences. */
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import type { Affinity } from './affinity.ts';

export interface PinningDeps {
  readonly runtime: Pick<RuntimeService, 'updateContainerResources'>;
  readonly containers: () => readonly ObservedContainer[];
  /** In the form of `cpuset.cpus`; empty for a container that is not managed. */
  readonly wanted: (podUID: string, container: string) => string;
  readonly affinity: Affinity;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Pinning {
  /** Called when assignments have changed. */
  wake(): void;
  /** Called when a container was created with these CPUs. */
  created(containerId: string, cpus: string): void;
  /** Runs one round. @param isThorough reads the cpusets of the kernel */
  reconcile(isThorough: boolean): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** Concurrent calls to the runtime. */
const AT_ONCE = 4;

export function createPinning(deps: PinningDeps, periodMs: number): Pinning {
  const { runtime, containers, wanted, affinity, clock, log } = deps;
  /** Last known cpuset by container ID. */
  const given = new Map<string, string>();
  const calls = createLimiter(AT_ONCE);
  let nextMs = 0;

  async function pin(container: ObservedContainer, isThorough: boolean): Promise<void> {
    const { id, podUID, name } = container;
    const known = given.get(id);
    const has = isThorough || known === undefined ? ((await affinity.of(id)) ?? known) : known;
    const cpus = wanted(podUID, name);
    if (cpus === '' || cpus === has) {
      if (has !== undefined) given.set(id, has);
      return;
    }
    try {
      await runtime.updateContainerResources({ containerId: id, linux: { cpusetCpus: cpus } });
      given.set(id, cpus);
      log.debug({ containerID: id, container: name, podUID, cpus }, 'Container cpuset updated');
    } catch (thrown) {
      // It may have exited by now; the next round checks.
      log.warn(
        { err: asError(thrown), containerID: id, container: name, podUID, cpus },
        'Failed to update container cpuset',
      );
    }
  }

  async function reconcile(isThorough: boolean): Promise<void> {
    const alive = containers().filter(({ state }) => state === 'running' || state === 'created');
    const ids = new Set(alive.map(({ id }) => id));
    for (const id of given.keys()) if (!ids.has(id)) given.delete(id);
    affinity.retainOnly(ids);
    await Promise.all(alive.map((container) => calls.run(() => pin(container, isThorough))));
  }

  const loop = createLoop({
    clock,
    onError: (err) => log.warn({ err }, 'Failed to reconcile container CPUs'),
    async step() {
      const isThorough = clock.now() >= nextMs;
      if (isThorough) nextMs = clock.now() + periodMs;
      await reconcile(isThorough);
      return nextMs;
    },
  });

  return {
    wake: () => loop.wake(),
    created(containerId, cpus) {
      given.set(containerId, cpus);
      loop.wake();
    },
    reconcile,
    async run(signal) {
      loop.wake();
      await loop.run(signal);
    },
  };
}
