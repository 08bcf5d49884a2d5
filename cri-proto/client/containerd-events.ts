/** Event service of containerd, on the same socket as its CRI. It reports an exit about 50 ms before the CRI
 *  does, and events that the CRI of older releases does not report. */

import type { DecodedMessage } from '#api/codec/protobuf/fields.ts';
import { createMessageTypes, type MessageTypes } from '#api/codec/protobuf/message.ts';
import { textOf } from '#api/kit/object.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import eventsTable from '../data/containerd-events.json' with { type: 'json' };
import type { GrpcChannel } from './channel.ts';

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

const SUBSCRIBE = '/containerd.services.events.v1.Events/Subscribe';

/** Most events are of snapshots and content; the server filters them out. */
const FILTER = `namespace==${CONTAINERD_CRI_NAMESPACE},topic~="^/?(tasks|containers|sandbox(es)?|images)/"`;

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
