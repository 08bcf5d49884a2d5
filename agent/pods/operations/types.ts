/** Effects of a pod worker, one function per kind of action. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import type { PodAction } from '../decide/decision-types.ts';

export type ActionOf<Kind extends PodAction['kind']> = Extract<PodAction, { readonly kind: Kind }>;

/** Outcome of a start: running, or the reason that the container status shows until the next attempt. */
export type StartOutcome =
  | { readonly kind: 'started' }
  | {
      readonly kind: 'failed';
      readonly reason: string;
      readonly message: string;
      /** Wall time (ms) of the next attempt, where the cause knows it better than the backoff of the worker. */
      readonly retryAtMs?: number;
    };

/** Each function is idempotent and throws on failure; `signal` fires when its result is no longer needed. */
export interface PodOperations {
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void>;
  unmountVolumes(pod: Pod): Promise<void>;
  createSandbox(pod: Pod, attempt: number, signal: AbortSignal): Promise<void>;
  stopSandbox(pod: Pod, sandboxId: string): Promise<void>;
  startContainer(pod: Pod, action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<StartOutcome>;
  /** Runs the preStop hook, sends the stop signal, and kills at the end of the grace period. */
  killContainer(pod: Pod, action: ActionOf<'killContainer'>, signal: AbortSignal): Promise<void>;
  removeContainer(pod: Pod, container: ObservedContainer): Promise<void>;
  /** Removes containers, sandboxes, logs and directories of the pod. */
  removePod(pod: Pod): Promise<void>;
}
