/** Stops every pod of a runtime within a time that fits into a shutdown. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';

export interface StopPodsOptions {
  /** `unix://…` */
  readonly endpoint: string;
  readonly log: Logger;
}

/** Time between SIGTERM and SIGKILL of a container, in seconds; well below the limit of the unit. */
const GRACE_SECONDS = 10;
/** Maximum time for the runtime to respond. */
const CONNECT_TIMEOUT_MS = 5_000;

/** Stops all containers concurrently, then the sandboxes. A failure is logged and the pod left to systemd. */
export async function stopPods(options: StopPodsOptions): Promise<void> {
  const { log } = options;
  const connection = connectRuntime(options);
  try {
    await connection.whenConnected(AbortSignal.timeout(CONNECT_TIMEOUT_MS));
    const { runtime } = connection;
    const { containers } = await runtime.listContainers({
      filter: { state: { state: 'CONTAINER_RUNNING' } },
    });
    const timeout = BigInt(GRACE_SECONDS);
    await all(log, containers, ({ id }) => runtime.stopContainer({ containerId: id, timeout }));
    const { items } = await runtime.listPodSandbox({ filter: { state: { state: 'SANDBOX_READY' } } });
    await all(log, items, ({ id }) => runtime.stopPodSandbox({ podSandboxId: id }));
    log.info({ containers: containers.length, pods: items.length }, 'Pods stopped');
  } finally {
    connection.close();
  }
}

async function all<T>(log: Logger, items: readonly T[], stop: (item: T) => Promise<unknown>): Promise<void> {
  const results = await Promise.allSettled(items.map(stop));
  for (const result of results) {
    if (result.status === 'rejected') log.warn({ err: asError(result.reason) }, 'Failed to stop pod');
  }
}
