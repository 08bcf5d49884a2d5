/** Events of containers: the common form, and its sources, the CRI and the event service of containerd. That
 *  service is on the same socket as the CRI of containerd; it reports an exit about 50 ms before the CRI does, and
 *  events that the CRI of older releases does not report. */

import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import { textOf } from '#api/kit/object.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import eventsTable from '../data/containerd-events.json' with { type: 'json' };
import type { ContainerStatus } from '../gen/cri-v1.ts';
import type { GrpcChannel } from './channel.ts';

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

const PARSERS: Readonly<Record<string, Parser>> = {
  'containerd.events.TaskCreate': (body) => ({ kind: 'task-create', ...parseProcess(body) }),
  'containerd.events.TaskStart': (body) => ({ kind: 'task-start', ...parseProcess(body) }),
  'containerd.events.TaskExit': (body) => ({ kind: 'task-exit', ...parseEnd(body) }),
  'containerd.events.TaskDelete': (body) => ({ kind: 'task-delete', ...parseEnd(body) }),
  'containerd.events.TaskOOM': (body) => ({ kind: 'task-oom', containerId: textOf(body['containerId']) }),
  'containerd.events.ContainerCreate': (body) => ({
    kind: 'container-create',
    containerId: textOf(body['id']),
    image: textOf(body['image']),
  }),
  'containerd.events.ContainerDelete': (body) => ({
    kind: 'container-delete',
    containerId: textOf(body['id']),
  }),
  'containerd.events.SandboxCreate': (body) => ({
    kind: 'sandbox-create',
    sandboxId: textOf(body['sandboxId']),
  }),
  'containerd.events.SandboxStart': (body) => ({
    kind: 'sandbox-start',
    sandboxId: textOf(body['sandboxId']),
  }),
  'containerd.events.SandboxExit': (body) => ({
    kind: 'sandbox-exit',
    sandboxId: textOf(body['sandboxId']),
    exitStatus: number(body['exitStatus']),
    exitedAtMs: milliseconds(body['exitedAt']),
  }),
  'containerd.events.ImageCreate': (body) => ({ kind: 'image-create', name: textOf(body['name']) }),
  'containerd.events.ImageUpdate': (body) => ({ kind: 'image-update', name: textOf(body['name']) }),
  'containerd.events.ImageDelete': (body) => ({ kind: 'image-delete', name: textOf(body['name']) }),
};

const SUBSCRIBE = '/containerd.services.events.v1.Events/Subscribe';

/** Most events are of snapshots and content; the server filters them out. */
const FILTER = `namespace==${CONTAINERD_CRI_NAMESPACE},topic~="^/?(tasks|containers|sandbox(es)?|images)/"`;

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

/** Process of an event. */
interface ProcessEvent {
  readonly containerId: string;
  readonly pid: number;
}

interface ProcessEnd extends ProcessEvent {
  /** Exec ID; undefined if the first process of the container exited. */
  readonly execId: string | undefined;
  readonly exitStatus: number;
  /** Wall time in whole ms; undefined if containerd did not report it. */
  readonly exitedAtMs: number | undefined;
}

/** Containers of containerd are containers and sandboxes of the CRI, with the same IDs. */
export type ContainerdEvent =
  | ({ readonly kind: 'task-create' | 'task-start' } & ProcessEvent)
  | ({ readonly kind: 'task-exit' | 'task-delete' } & ProcessEnd)
  | { readonly kind: 'task-oom'; readonly containerId: string }
  | { readonly kind: 'container-create'; readonly containerId: string; readonly image: string }
  | { readonly kind: 'container-delete'; readonly containerId: string }
  | { readonly kind: 'sandbox-create' | 'sandbox-start'; readonly sandboxId: string }
  | {
      readonly kind: 'sandbox-exit';
      readonly sandboxId: string;
      readonly exitStatus: number;
      readonly exitedAtMs: number | undefined;
    }
  | { readonly kind: 'image-create' | 'image-update' | 'image-delete'; readonly name: string };

type Parser = (body: DecodedMessage) => ContainerdEvent;

/** Returns the event in a decoded `Envelope`; undefined for other namespaces and for irrelevant kinds.
 *  @throws ProtobufError if the bytes of the event are malformed */
export function parseContainerdEvent(
  types: MessageTypes,
  envelope: DecodedMessage,
  namespace: string,
): ContainerdEvent | undefined {
  const { event } = envelope;
  if (envelope['namespace'] !== namespace || !isMessage(event)) return undefined;
  // So far `containerd.events.TaskExit`; by protobuf convention the last segment of a URL.
  const typeUrl = textOf(event['typeUrl']);
  const type = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
  const parse = PARSERS[type];
  const { value } = event;
  if (parse === undefined || !(value instanceof Uint8Array)) return undefined;
  return parse(types.type(type).decode(value));
}

function parseProcess(body: DecodedMessage): ProcessEvent {
  return { containerId: textOf(body['containerId']), pid: number(body['pid']) };
}

function parseEnd(body: DecodedMessage): ProcessEnd {
  const process = parseProcess(body);
  const id = textOf(body['id']);
  return {
    ...process,
    // The first process of a container has the ID of the container.
    execId: id === '' || id === process.containerId ? undefined : id,
    exitStatus: number(body['exitStatus']),
    exitedAtMs: milliseconds(body['exitedAt']),
  };
}

function isMessage(value: unknown): value is DecodedMessage {
  return typeof value === 'object' && value !== null;
}

const number = (value: unknown): number => (typeof value === 'number' ? value : 0);

function milliseconds(timestamp: unknown): number | undefined {
  if (!isMessage(timestamp) || typeof timestamp['seconds'] !== 'bigint') return undefined;
  return Number(timestamp['seconds']) * 1000 + Math.trunc(number(timestamp['nanos']) / 1e6);
}

/** Yields the events in the CRI namespace of containerd, from the subscription until `signal` fires.
 *  @throws CriError; `Unimplemented` if the runtime is not containerd
 *  @throws ProtobufError for an event that cannot be decoded */
export async function* watchContainerdEvents(
  channel: Pick<GrpcChannel, 'stream'>,
  signal: AbortSignal,
): AsyncGenerator<ContainerdEvent, void, undefined> {
  const types = createMessageTypes(eventsTable);
  const envelope = types.type('Envelope');
  const request = types.type('SubscribeRequest').encode({ filters: [FILTER] });
  for await (const bytes of channel.stream(SUBSCRIBE, request, { signal, timeoutMs: 0 })) {
    const event = parseContainerdEvent(types, envelope.decode(bytes), CONTAINERD_CRI_NAMESPACE);
    if (event !== undefined) yield event;
  }
}
