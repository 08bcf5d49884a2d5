/** What the runtime was last seen to hold of one pod. A snapshot: never changed after it is handed out. */

export type ContainerKind = 'app' | 'init' | 'ephemeral';

export interface ObservedSandbox {
  readonly id: string;
  readonly podUID: string;
  readonly podNamespace: string;
  readonly podName: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  /** Primary address first; empty with host networking or before it is known. */
  readonly ips: readonly string[];
}

export type ObservedContainerState = 'created' | 'running' | 'exited' | 'unknown';

export interface ObservedContainer {
  readonly id: string;
  readonly podUID: string;
  readonly sandboxId: string;
  readonly name: string;
  readonly kind: ContainerKind;
  /** How often a container of this name was made before in this pod; its restart count. */
  readonly attempt: number;
  readonly state: ObservedContainerState;
  readonly createdAtMs: number;
  /** 0 until started. */
  readonly startedAtMs: number;
  /** 0 until exited. */
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** The runtime's word, such as `OOMKilled`, `Error`, `Completed`; may be empty. */
  readonly reason: string;
  readonly message: string;
  readonly image: string;
  readonly imageID: string;
  /** Hash of the container spec that it was made from. */
  readonly hash: string;
  /** Its last words are the end of its log when it failed without leaving any. */
  readonly fallsBackToLogs: boolean;
  /** Only the event of its end was seen so far: the reason and the last words follow, and nothing of the end is
   *  published before. Absent otherwise. */
  readonly isProvisional?: true;
}

export interface PodObservation {
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first. */
  readonly containers: readonly ObservedContainer[];
}

/** The container as it stays when nothing more will be learned of its end. */
export function settled(container: ObservedContainer, message: string): ObservedContainer {
  const { isProvisional: _, ...rest } = container;
  return { ...rest, message: message || rest.message };
}

export const NOTHING_OBSERVED: PodObservation = { sandboxes: [], containers: [] };
