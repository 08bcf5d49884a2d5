/** Common form of the events of all runtimes. Pure. */
import type { ContainerStatus } from '../gen/cri-v1.ts';
import type { ContainerdEvent } from './containerd-events.ts';

/** A change of a container or, under its own ID, of a sandbox. An event is a fact; the status in the runtime
 *  may lag behind it. */
export interface ContainerRuntimeEvent {
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | 'oom';
  /** ID of the container or the sandbox. */
  readonly containerId: string;
  /** Of `stopped`, if the runtime reports it. */
  readonly exitCode?: number;
  /** Of `stopped`: wall time in whole ms. */
  readonly exitedAtMs?: number;
}

/** `resync`: earlier events may have been missed, so list everything; the following events are complete until
 *  the next resync, which comes after a reconnect, or soon if the runtime rejects an event method late.
 *  `unsupported`: this runtime sends no events; until the next `resync` only listing detects changes. */
export type RuntimeEvent =
  | ContainerRuntimeEvent
  | { readonly kind: 'resync' }
  | { readonly kind: 'unsupported' };

const CRI_KINDS: Readonly<Record<string, ContainerRuntimeEvent['kind']>> = {
  CONTAINER_CREATED_EVENT: 'created',
  CONTAINER_STARTED_EVENT: 'started',
  CONTAINER_STOPPED_EVENT: 'stopped',
  CONTAINER_DELETED_EVENT: 'deleted',
};

/** The used fields of a `ContainerEventResponse`. */
export interface CriContainerEvent {
  readonly containerId: string;
  /** May be the number of a newer kind. */
  readonly containerEventType: string;
  readonly containersStatuses: readonly Pick<ContainerStatus, 'id' | 'state' | 'exitCode' | 'finishedAt'>[];
}

/** Undefined for kinds that are newer than this table. */
export function fromCriEvent(event: CriContainerEvent): ContainerRuntimeEvent | undefined {
  const { containerId } = event;
  const kind = CRI_KINDS[event.containerEventType];
  if (kind === undefined) return undefined;
  const status = event.containersStatuses.find((candidate) => candidate.id === containerId);
  if (kind !== 'stopped' || status === undefined || status.state !== 'CONTAINER_EXITED') {
    return { kind, containerId };
  }
  return stopped(
    containerId,
    status.exitCode,
    status.finishedAt === 0n ? undefined : Number(status.finishedAt / 1_000_000n),
  );
}

/** Undefined for events that do not change the state of a container: execs, task creation and deletion,
 *  images. */
export function fromContainerdEvent(event: ContainerdEvent): ContainerRuntimeEvent | undefined {
  switch (event.kind) {
    case 'container-create':
      return { kind: 'created', containerId: event.containerId };
    case 'task-start':
      return { kind: 'started', containerId: event.containerId };
    case 'task-exit':
      if (event.execId !== undefined) return undefined;
      return stopped(event.containerId, event.exitStatus, event.exitedAtMs);
    case 'task-oom':
      return { kind: 'oom', containerId: event.containerId };
    case 'container-delete':
      return { kind: 'deleted', containerId: event.containerId };
    case 'sandbox-exit':
      return stopped(event.sandboxId, event.exitStatus, event.exitedAtMs);
    case 'sandbox-create':
      return { kind: 'created', containerId: event.sandboxId };
    case 'sandbox-start':
      return { kind: 'started', containerId: event.sandboxId };
    case 'task-create':
    case 'task-delete':
    case 'image-create':
    case 'image-update':
    case 'image-delete':
      return undefined;
    default:
      return event satisfies never;
  }
}

function stopped(
  containerId: string,
  exitCode: number,
  exitedAtMs: number | undefined,
): ContainerRuntimeEvent {
  const event = { kind: 'stopped', containerId, exitCode } as const;
  return exitedAtMs === undefined ? event : { ...event, exitedAtMs };
}
