/** Contract of the pod worker: its start, its dependencies, and the effects that it may request. */
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { RuntimeView } from '../observe/runtime-view.ts';
import type { ObservedContainer, PodObservation } from '../observe/types.ts';
import type { PodIdentity } from '../pod-identity/identity.ts';
import type { ProbeVerdict } from '../probes/verdict.ts';
import type {
  ActionOf,
  ContainerSpec,
  PodProgress,
  TerminalPhase,
  WaitingReason,
} from './decide/decision-types.ts';
import type { StartOutcome } from './operations/start-container.ts';
import type { RecordChanges } from './record/record.ts';

/** Effects of a worker, one function per kind of action. Each function is idempotent and throws on failure; `signal` fires when its result is no longer needed. */
export interface PodOperations {
  mountVolumes(pod: Pod, signal: AbortSignal): Promise<void>;
  unmountVolumes(): Promise<void>;
  createSandbox(pod: Pod, attempt: number, signal: AbortSignal): Promise<void>;
  stopSandbox(sandboxId: string): Promise<void>;
  startContainer(pod: Pod, action: ActionOf<'startContainer'>, signal: AbortSignal): Promise<StartOutcome>;
  /** Runs the preStop hook, sends the stop signal, and kills at the end of the grace period. */
  killContainer(pod: Pod, action: ActionOf<'killContainer'>, signal: AbortSignal): Promise<void>;
  removeContainer(container: ObservedContainer): Promise<void>;
  /** Removes containers, sandboxes, logs and directories of the pod. */
  removePod(): Promise<void>;
}

export interface PodWorkerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly view: RuntimeView;
  readonly operations: PodOperations;
  /** Starts and stops probes to match the running containers; `undefined` stops all probes of the pod. */
  readonly syncProbes: (pod: Pod, observed: PodObservation | undefined) => void;
  readonly probeVerdict: (containerId: string) => ProbeVerdict | undefined;
  /** Persists changes of the pod for the next agent. */
  readonly save: (changes: RecordChanges) => Promise<void>;
  readonly status: (facts: StatusFacts) => PodStatus;
  /** Also called when the removal of the pod starts. */
  readonly onStatus: (status: PodStatus) => void;
  readonly warn: (reason: string, message: string, container?: Pick<ContainerSpec, 'name'>) => void;
  readonly keepTerminatedVolumes: boolean;
}

/** Input of the status. */
export interface StatusFacts {
  readonly pod: Pod;
  readonly observed: PodObservation;
  readonly progress: PodProgress;
  /** The pod is being deleted. */
  readonly isRemoved: boolean;
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  readonly previous: PodStatus | undefined;
}

export interface PodStart {
  readonly pod: Pod;
  readonly identity: PodIdentity;
  readonly startedAtMs: number;
  readonly terminal: TerminalPhase | undefined;
  /** The pod was admitted by an earlier agent: volumes may be mounted. */
  readonly adopted: boolean;
}

/** Requested removal of a pod. */
export interface PodDeletion {
  /** Wall time of the first request plus the grace period. */
  readonly atMs: number;
  readonly gracePeriodSeconds: Int64;
}
