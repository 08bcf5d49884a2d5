/** Types of the pod decisions: their input, and the resulting actions. */

import type { Container, EphemeralContainer, Pod } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { ObservedContainer, PodObservation } from '../../observe/types.ts';
import type { ContainerKind } from '../../pod-identity/container-kind.ts';
import type { ProbeVerdict } from '../../probes/verdict.ts';
import type { CrashBackoff } from './backoff.ts';

export type ContainerSpec = Container | EphemeralContainer;

/** Desired state of the pod as a whole. */
export type PodIntent =
  | { readonly kind: 'run' }
  /** The pod is no longer desired here: terminate it and remove everything. */
  | { readonly kind: 'remove'; readonly gracePeriodSeconds: Int64 };

/** Terminal phase of a pod; immutable once set. */
export interface TerminalPhase {
  readonly phase: 'Succeeded' | 'Failed';
  readonly reason: string;
  readonly message: string;
  /** Grace period of its containers; defaults to that of the pod. */
  readonly gracePeriodSeconds?: Int64;
}

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** State of one container name that the worker carries between decisions. */
export interface ContainerProgress {
  readonly crash?: CrashBackoff;
  /** The last start that failed before the container ran; cleared by a successful start. */
  readonly failure?: WaitingReason & { readonly retryAtMs: number };
}

/** State of the pod that the worker carries between decisions. */
export interface PodProgress {
  /** Keys of operations in flight: `volumes`, `sandbox`, `cleanup`, `container/<name>`. */
  readonly busy: ReadonlySet<string>;
  /** `unknown` after an agent restart: volumes may be mounted. */
  readonly volumes: 'unknown' | 'mounted' | 'none';
  /** Wall time (ms) before which a failed operation is not retried, by key. */
  readonly retryAtMs: ReadonlyMap<string, number>;
  /** Sandboxes that have been stopped for good. */
  readonly stoppedSandboxes: ReadonlySet<string>;
  readonly containers: ReadonlyMap<string, ContainerProgress>;
  /** Attempt number of the next instance, by container name; 0 where absent. Never decreases, even when
   *  earlier instances have disappeared from the runtime. */
  readonly attempts: ReadonlyMap<string, number>;
  /** By container ID. */
  readonly probes: ReadonlyMap<string, ProbeVerdict>;
  readonly terminal: TerminalPhase | undefined;
  readonly startedAtMs: number;
}

export interface DecideInput {
  readonly pod: Pod;
  readonly intent: PodIntent;
  readonly observed: PodObservation;
  readonly progress: PodProgress;
  readonly keepTerminatedVolumes: boolean;
  readonly nowMs: number;
}

export type KillReason =
  | 'Unhealthy'
  | 'Changed'
  | 'PodDeleted'
  | 'PodFinished'
  | 'SandboxEnded'
  | 'StateUnknown';

export type PodAction =
  | { readonly kind: 'mountVolumes' }
  | { readonly kind: 'unmountVolumes' }
  | { readonly kind: 'createSandbox'; readonly attempt: number }
  | { readonly kind: 'stopSandbox'; readonly sandboxId: string }
  | {
      readonly kind: 'startContainer';
      readonly spec: ContainerSpec;
      readonly containerKind: ContainerKind;
      readonly attempt: number;
      readonly sandboxId: string;
      /** The instance that it replaces, if any. */
      readonly previous: ObservedContainer | undefined;
    }
  | {
      readonly kind: 'killContainer';
      readonly container: ObservedContainer;
      readonly reason: KillReason;
      readonly message: string;
      readonly gracePeriodSeconds: Int64;
    }
  /** Removes a container that a dead agent created and never started. */
  | { readonly kind: 'removeContainer'; readonly container: ObservedContainer }
  | ({ readonly kind: 'finish' } & TerminalPhase)
  /** Removes everything left of the pod: containers, sandboxes, directories. The last action of a pod. */
  | { readonly kind: 'removePod' };

export type ActionOf<Kind extends PodAction['kind']> = Extract<PodAction, { readonly kind: Kind }>;

export interface Decision {
  readonly actions: readonly PodAction[];
  /** Waiting reasons for the status, by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Wall time (ms) of the next decision if nothing changes. */
  readonly wakeAtMs: number | undefined;
}

/** Returns the key of an action in flight; two actions with one key never run concurrently. */
export function operationKey(action: PodAction): string {
  switch (action.kind) {
    case 'mountVolumes':
    case 'unmountVolumes':
      return 'volumes';
    case 'createSandbox':
    case 'stopSandbox':
      return 'sandbox';
    case 'startContainer':
      return containerKey(action.spec.name);
    case 'killContainer':
    case 'removeContainer':
      return containerKey(action.container.name);
    case 'finish':
      return 'finish';
    case 'removePod':
      return 'cleanup';
    default:
      return action satisfies never;
  }
}

export const containerKey = (name: string): string => `container/${name}`;

/** Reports whether an operation on any container of the pod is in flight. */
export const isContainerWorkInFlight = ({ busy }: Pick<PodProgress, 'busy'>): boolean =>
  [...busy].some((key) => key.startsWith(containerKey('')));
