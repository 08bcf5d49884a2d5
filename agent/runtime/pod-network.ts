/** Address range of pods: given to the runtime by CRI, and to the network of a managed containerd. Follows the
 *  node's range, and repeats it to a runtime that has restarted. Source: upstream's `updatePodCIDR`. */
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { CriConnection } from '#cri/client/connection.ts';

export interface PodNetworkDeps {
  readonly connection: Pick<CriConnection, 'runtime' | 'whenConnected' | 'onStateChange'>;
  /** Adapts the managed network; undefined for a runtime of another owner. */
  readonly adapt: (() => Promise<void>) | undefined;
  readonly log: Logger;
}

/** Ranges of the node; they may become known later. */
export interface PodRanges {
  readonly current: () => readonly string[];
  readonly onChange: (listener: () => void) => () => void;
}

/** Runs until the signal fires. Never rejects. */
export async function runPodNetwork(
  { connection, adapt, log }: PodNetworkDeps,
  wanted: PodRanges,
  signal: AbortSignal,
): Promise<void> {
  let last: Promise<void> = Promise.resolve();

  async function update(): Promise<void> {
    const podCidr = wanted.current().join(',');
    try {
      await adapt?.();
      if (podCidr === '') return;
      await connection.runtime.updateRuntimeConfig(
        { runtimeConfig: { networkConfig: { podCidr } } },
        { signal },
      );
      log.debug({ podCidr }, 'Address range of pods sent to the runtime');
    } catch (thrown) {
      if (!signal.aborted) log.warn({ err: asError(thrown), podCidr }, 'Failed to update pod network');
    }
  }
  const next = (): void => void (last = last.then(update));

  try {
    await connection.whenConnected(signal);
  } catch {
    // The signal fired first.
    return;
  }
  const ends = [
    wanted.onChange(next),
    connection.onStateChange((state) => {
      if (state !== 'away') next();
    }),
  ];
  next();
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
  for (const end of ends) end();
  await last;
}
