/** The effects that a pod's worker may have, one function per kind of action. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import type { PodAction } from '../plan.ts';

export type ActionOf<Kind extends PodAction['kind']> = Extract<PodAction, { readonly kind: Kind }>;

/** How a start ended: running, or a reason why not that the container's status shows until the next try. */
export type StartOutcome =
  | { readonly kind: 'started' }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly message: string;
      /** When to try again (ms wall time), where the cause knows it better than the worker's own backoff. */
      readonly retryAtMs?: number;
    };

/** Each function may be repeated and throws what went wrong; `signal` fires when its result is no longer wanted. */
export interface PodOperations {
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void>;
  unmountVolumes(pod: Pod): Promise<void>;
  createSandbox(pod: Pod, attempt: number, signal: AbortSignal): Promise<void>;
  stopSandbox(pod: Pod, sandboxId: string): Promise<void>;
  startContainer(pod: Pod, action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<StartOutcome>;
  /** Runs the preStop hook, signals, and kills when the grace period is over. */
  killContainer(pod: Pod, action: ActionOf<'killContainer'>, signal: AbortSignal): Promise<void>;
  removeContainer(pod: Pod, container: ObservedContainer): Promise<void>;
  /** Removes containers, sandboxes, logs and folders of the pod. */
  removePod(pod: Pod): Promise<void>;
}
