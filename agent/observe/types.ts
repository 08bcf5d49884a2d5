/** Last observed state of one pod in the runtime. An immutable snapshot. */
import type { ContainerKind } from '../pod-identity/container-kind.ts';

export interface ObservedSandbox {
  readonly id: string;
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** Primary address first; empty with host networking or while unknown. */
  readonly ips: readonly string[];
}

export type ObservedContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface ObservedContainer {
  readonly id: string;
  readonly podUID: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly kind: ContainerKind;
  /** Number of earlier instances of this container in its pod; its restart count. */
  readonly attempt: number;
  readonly state: ObservedContainerState;
  readonly createdAtMs: number;
  /** 0 until started. */
  readonly startedAtMs: number;
  /** 0 until exited. */
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** Reason of the runtime, such as `OOMKilled`, `Error`, `Completed`; may be empty. */
  readonly reason: string;
  readonly message: string;
  readonly image: string;
  readonly imageID: string;
  /** Hash of the container spec at creation. */
  readonly hash: string;
  /** Whether the end of the log is the termination message of a failed container without one. */
  readonly fallsBackToLogs: boolean;
  /** Only the exit event has been received: reason and termination message follow, and the exit is published
   *  only then. Absent otherwise. */
  readonly isProvisional?: true;
}

export interface PodObservation {
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first. */
  readonly containers: readonly ObservedContainer[];
}

/** Returns the container with its exit marked as complete. */
export function settled(container: ObservedContainer, message: string): ObservedContainer {
  const { isProvisional: _, ...rest } = container;
  return { ...rest, message: message || rest.message };
}

export const NOTHING_OBSERVED: PodObservation = { sandboxes: [], containers: [] };
