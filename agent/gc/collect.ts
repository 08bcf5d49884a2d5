/** Executes one round of garbage collection: dead containers, then sandboxes, then logs and links of removed
 *  pods. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { LogLinks } from '../logs/links.ts';
import { decideDeadContainers, type GcObservation, type GcPolicy } from './dead-containers.ts';
import { removeLogDirs } from './log-dirs.ts';

export interface CollectDeps {
  readonly runtime: Pick<RuntimeService, 'removeContainer' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly links: Pick<LogLinks, 'removeDead'>;
  readonly log: Logger;
}

export interface CollectOptions {
  readonly podLogsDir: string;
  readonly policy: GcPolicy;
}

export interface CollectResult {
  readonly containers: number;
  readonly sandboxes: number;
  readonly logDirs: number;
  readonly links: number;
}

/** Executes the decision of `decideDeadContainers` for `observation`. Failures are logged and left to the
 *  next round.
 *  @throws the signal's reason when it fires; the system's error when a directory cannot be listed. */
export async function collectDead(
  deps: CollectDeps,
  options: CollectOptions,
  observation: GcObservation,
  signal: AbortSignal,
): Promise<CollectResult> {
  const { runtime, links, log } = deps;
  const decision = decideDeadContainers(observation, options.policy);

  async function countRemoved(
    ids: readonly string[],
    remove: (id: string) => Promise<unknown>,
  ): Promise<number> {
    let count = 0;
    for (const id of ids) {
      signal.throwIfAborted();
      try {
        await remove(id);
        count += 1;
      } catch (thrown) {
        signal.throwIfAborted();
        log.warn({ err: asError(thrown), id }, 'Failed to remove dead container or sandbox');
      }
    }
    return count;
  }

  const containers = await countRemoved(decision.containerIDs, (containerId) =>
    runtime.removeContainer({ containerId }, { signal }),
  );
  const sandboxes = await countRemoved(decision.sandboxIDs, async (podSandboxId) => {
    // A stop also releases network resources of a sandbox that is already down.
    await runtime.stopPodSandbox({ podSandboxId }, { signal });
    await runtime.removePodSandbox({ podSandboxId }, { signal });
  });
  signal.throwIfAborted();
  const { sourcesReady, isPodGone } = observation;
  const logDirs = sourcesReady ? await removeLogDirs(options.podLogsDir, isPodGone, log) : [];
  const running = observation.containers.filter(({ state }) => state === 'CONTAINER_RUNNING');
  const deadLinks = await links.removeDead(new Set(running.map(({ containerID }) => containerID)));
  const result = { containers, sandboxes, logDirs: logDirs.length, links: deadLinks.length };
  if (Object.values(result).some((count) => count > 0)) log.info(result, 'Garbage collected');
  return result;
}
