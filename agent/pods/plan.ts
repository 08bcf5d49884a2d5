/** The vocabulary of the pod decisions: what goes in, and the actions that come out. Types only. */
import type { Container, EphemeralContainer, Pod } from '#api/schema/gen/core-v1.ts';
import type { ContainerKind, ObservedContainer, PodObservation } from '../observe/types.ts';
import type { CrashBackoff } from './crash-backoff.ts';

export type ContainerSpec = Container | EphemeralContainer;

/** What is wanted of the pod as a whole. */
export type PodIntent =
  | { readonly kind: 'run' }
  /** The pod is no longer wanted here: end it and leave nothing behind. */
  | { readonly kind: 'remove'; readonly gracePeriodSeconds: number };

/** The end of a pod's life; once set it never changes. */
export interface TerminalPhase {
  readonly phase: 'Succeeded' | 'Failed';
  readonly reason: string;
  readonly message: string;
  /** Time in which its containers may end by themselves; the pod's own unless given. */
  readonly gracePeriodSeconds?: number;
}

export interface ProbeVerdict {
  readonly started: boolean;
  readonly ready: boolean;
  /** Set when a liveness or startup probe gave up on the container. */
  readonly failure?: { readonly message: string; readonly gracePeriodSeconds?: number };
}

export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** What the worker remembers of one container name. */
export interface ContainerProgress {
  readonly crash?: CrashBackoff;
  /** The last start that failed before the container ran; kept until a start succeeds. */
  readonly failure?: WaitingReason & { readonly retryAtMs: number };
}

/** What the worker remembers of the pod between two decisions. */
export interface PodProgress {
  /** Keys of operations under way: `volumes`, `sandbox`, `cleanup`, `container/<name>`. */
  readonly busy: ReadonlySet<string>;
  /** `unknown` after an agent restart: something may be mounted. */
  readonly volumes: 'unknown' | 'mounted' | 'none';
  /** Wall time (ms) before which an operation that failed is not tried again, by key. */
  readonly retryAtMs: ReadonlyMap<string, number>;
  /** Sandboxes that were stopped for good. */
  readonly stoppedSandboxes: ReadonlySet<string>;
  readonly containers: ReadonlyMap<string, ContainerProgress>;
  /** The attempt that the next instance of a container is, by container name; 0 where absent. It only grows, even when the
   *  instances before it have disappeared from the runtime. */
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
      /** The instance that it follows, if any. */
      readonly previous: ObservedContainer | undefined;
    }
  | {
      readonly kind: 'killContainer';
      readonly container: ObservedContainer;
      readonly reason: KillReason;
      readonly message: string;
      readonly gracePeriodSeconds: number;
    }
  /** A container that was made but never started, left by an agent that died. */
  | { readonly kind: 'removeContainer'; readonly container: ObservedContainer }
  | ({ readonly kind: 'finish' } & TerminalPhase)
  /** Removes what is left of the pod: containers, sandboxes, folders. The last action of a pod. */
  | { readonly kind: 'removePod' };

export interface Decision {
  readonly actions: readonly PodAction[];
  /** Why a container is not running, for its status; by container name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Wall time (ms) at which to decide again though nothing happened. */
  readonly wakeAtMs: number | undefined;
}

/** The key under which an action is under way; two actions of one key never run at once. */
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
