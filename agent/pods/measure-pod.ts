/** Measures the operations of one pod. Changes neither their results nor their order. */
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { ContainerType, PodMetrics, PodOperationType } from '../metrics/pod-metrics.ts';
import type { PodOperations, PodStart } from './worker-contract.ts';

export interface MeasuredPod {
  /** Returns operations that are measured. */
  readonly operations: (operations: PodOperations) => PodOperations;
  /** Receives each published status. */
  readonly status: (status: PodStatus) => void;
}

const hasName =
  (name: string) =>
  (container: { readonly name?: string }): boolean =>
    container.name === name;

function containerType({ spec }: Pod, name: string): ContainerType {
  if (spec?.initContainers?.some(hasName(name)) === true) return 'init_container';
  return spec?.ephemeralContainers?.some(hasName(name)) === true ? 'ephemeral_container' : 'container';
}

/** Reports whether every container of the pod runs. */
const isRunning = ({ phase, containerStatuses = [] }: PodStatus): boolean =>
  phase === 'Running' && containerStatuses.every(({ state }) => state?.running !== undefined);

export function measurePod(
  { clock, metrics }: { readonly clock: Clock; readonly metrics: PodMetrics | undefined },
  { pod: first, adopted, startedAtMs }: Pick<PodStart, 'pod' | 'adopted' | 'startedAtMs'>,
): MeasuredPod {
  if (metrics === undefined) return { operations: (operations) => operations, status: () => undefined };
  // A pod of an earlier agent has started before.
  let isNew = !adopted;
  let hasWorked = adopted;
  const sinceAcceptedMs = (): number => Math.max(0, clock.now() - startedAtMs);

  async function timed<T>(type: PodOperationType | undefined, work: () => Promise<T>): Promise<T> {
    if (!hasWorked) metrics?.workerStarted(sinceAcceptedMs());
    hasWorked = true;
    const beganMs = clock.monotonic();
    try {
      return await work();
    } finally {
      metrics?.worked(type ?? (isNew ? 'create' : 'sync'), clock.monotonic() - beganMs);
    }
  }

  return {
    operations: (inner) => ({
      mountVolumes: (pod, signal) => timed(undefined, () => inner.mountVolumes(pod, signal)),
      unmountVolumes: () => timed('kill', () => inner.unmountVolumes()),
      createSandbox: (pod, attempt, signal) =>
        timed(undefined, async () => {
          try {
            await inner.createSandbox(pod, attempt, signal);
            metrics.sandboxStarted(false);
          } catch (thrown) {
            metrics.sandboxStarted(true);
            throw thrown;
          }
        }),
      stopSandbox: (sandboxId) => timed('kill', () => inner.stopSandbox(sandboxId)),
      startContainer: (pod, action, signal) =>
        timed(undefined, async () => {
          const outcome = await inner.startContainer(pod, action, signal);
          const code = outcome.kind === 'failed' ? outcome.reason : undefined;
          metrics.containerStarted(containerType(pod, action.spec.name), code);
          return outcome;
        }),
      killContainer: (pod, action, signal) => timed('kill', () => inner.killContainer(pod, action, signal)),
      removeContainer: (container) => timed('sync', () => inner.removeContainer(container)),
      removePod: () => timed('kill', () => inner.removePod()),
    }),
    status(status) {
      const count = first.spec?.containers.length ?? 0;
      if (!isNew || status.containerStatuses?.length !== count || !isRunning(status)) return;
      isNew = false;
      metrics.started(sinceAcceptedMs());
    },
  };
}
