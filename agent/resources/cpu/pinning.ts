/** Keeps the containers on the processors that they should run on: at once when that changes, and in turns for what
 *  somebody else did. The runtime is called only where something differs. */
import { asError, type Clock } from '#api/kit/clock.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import type { Affinity } from './affinity.ts';

export interface PinningDeps {
  readonly runtime: Pick<RuntimeService, 'updateContainerResources'>;
  readonly containers: () => readonly ObservedContainer[];
  /** In the form of `cpuset.cpus`; empty for a container that is left alone. */
  readonly wanted: (podUID: string, container: string) => string;
  readonly affinity: Affinity;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Pinning {
  /** What containers should run on has changed. */
  wake(): void;
  /** The container was made with these. */
  made(containerId: string, cpus: string): void;
  /** Looks at everything once. @param isThorough reads what the kernel has */
  look(isThorough: boolean): Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

/** Calls to the runtime at once. */
const AT_ONCE = 4;

export function createPinning(deps: PinningDeps, periodMs: number): Pinning {
  const { runtime, containers, wanted, affinity, clock, log } = deps;
  /** What each container was given, as far as it is known. */
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
      log.debug({ containerID: id, container: name, podUID, cpus }, 'Container was moved');
    } catch (thrown) {
      // It may have ended by now; the next turn sees.
      log.warn(
        { err: asError(thrown), containerID: id, container: name, podUID, cpus },
        'Container was not moved',
      );
    }
  }

  async function look(isThorough: boolean): Promise<void> {
    const alive = containers().filter(({ state }) => state === 'running' || state === 'created');
    const ids = new Set(alive.map(({ id }) => id));
    for (const id of given.keys()) if (!ids.has(id)) given.delete(id);
    affinity.keep(ids);
    await Promise.all(alive.map((container) => calls.run(() => pin(container, isThorough))));
  }

  const loop = createLoop({
    clock,
    onError: (err) => log.warn({ err }, 'Processors of containers could not be looked at'),
    async step() {
      const isThorough = clock.now() >= nextMs;
      if (isThorough) nextMs = clock.now() + periodMs;
      await look(isThorough);
      return nextMs;
    },
  });

  return {
    wake: () => loop.wake(),
    made(containerId, cpus) {
      given.set(containerId, cpus);
      loop.wake();
    },
    look,
    async run(signal) {
      loop.wake();
      await loop.run(signal);
    },
  };
}
