/** First processes of containers and pod sandboxes, which lead to their kernel statistics. The runtime is
 *  queried once for each. */
import type { RuntimeService } from '#cri/gen/cri-v1.ts';

export interface Processes {
  /** Undefined when the runtime does not report the process. */
  ofContainer(id: string): Promise<number | undefined>;
  ofSandbox(id: string): Promise<number | undefined>;
  /** Removes all others from the cache. */
  keep(ids: ReadonlySet<string>): void;
}

export interface ProcessesDeps {
  readonly runtime: Pick<RuntimeService, 'containerStatus' | 'podSandboxStatus'>;
}

/** Parses the verbose runtime information of a container: containerd and CRI-O have the same member. */
export function parsePid(info: Readonly<Record<string, string>>): number | undefined {
  try {
    const parsed: unknown = JSON.parse(info['info'] ?? '');
    const pid = typeof parsed === 'object' && parsed !== null && 'pid' in parsed ? parsed.pid : undefined;
    return typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 1 ? pid : undefined;
  } catch {
    return undefined;
  }
}

export function createProcesses({ runtime }: ProcessesDeps): Processes {
  const pids = new Map<string, number>();

  async function known(
    id: string,
    ask: () => Promise<{ readonly info: Readonly<Record<string, string>> }>,
  ): Promise<number | undefined> {
    const before = pids.get(id);
    if (before !== undefined) return before;
    // A container that has ended has no process.
    const status = await ask().catch(() => undefined);
    const pid = status === undefined ? undefined : parsePid(status.info);
    if (pid !== undefined) pids.set(id, pid);
    return pid;
  }

  return {
    ofContainer: (containerId) =>
      known(containerId, () => runtime.containerStatus({ containerId, verbose: true })),
    ofSandbox: (podSandboxId) =>
      known(podSandboxId, () => runtime.podSandboxStatus({ podSandboxId, verbose: true })),
    keep(ids) {
      for (const id of pids.keys()) if (!ids.has(id)) pids.delete(id);
    },
  };
}
