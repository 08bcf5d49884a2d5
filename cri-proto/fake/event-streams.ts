/** Event services of the fake: CRI `GetContainerEvents` and `Subscribe` of containerd. */
import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import type { ContainerEventResponse, ContainerEventType, GetEventsRequest } from '../gen/cri-v1.ts';
import type { MessageInput } from '../message.ts';
import type { StoreEvent } from './container-store.ts';
import type { PodStore } from './pod-store.ts';
import { viewContainerStatus, viewSandboxStatus } from './views.ts';

type Stream = Pick<ServerWritableStream<unknown, object>, 'write' | 'end'>;

export interface EventStream {
  readonly handlers: UntypedServiceImplementation;
  readonly publish: (event: StoreEvent) => void;
}

/** Open streams; each is removed when its client disconnects. */
interface Subscribers {
  readonly add: (stream: ServerWritableStream<unknown, object>) => void;
  readonly write: (message: object) => void;
}

function createSubscribers(): Subscribers {
  const open = new Set<Stream>();
  return {
    add(stream) {
      open.add(stream);
      stream.on('cancelled', () => {
        open.delete(stream);
        stream.end();
      });
      stream.on('close', () => open.delete(stream));
    },
    write: (message) => open.forEach((stream) => stream.write(message)),
  };
}

const CRI_TYPES: Readonly<Record<StoreEvent['kind'], ContainerEventType | undefined>> = {
  created: 'CONTAINER_CREATED_EVENT',
  started: 'CONTAINER_STARTED_EVENT',
  stopped: 'CONTAINER_STOPPED_EVENT',
  deleted: 'CONTAINER_DELETED_EVENT',
  oom: undefined,
};

export function createCriEvents(pods: PodStore, now: () => number): EventStream {
  const subscribers = createSubscribers();

  function toResponse(event: StoreEvent): MessageInput<ContainerEventResponse> | undefined {
    const containerEventType = CRI_TYPES[event.kind];
    if (containerEventType === undefined) return undefined;
    const sandbox = pods.sandboxes().find(({ id }) => id === event.sandboxId);
    const containers = pods.containers().filter(({ sandboxId }) => sandboxId === event.sandboxId);
    return {
      containerId: event.id,
      containerEventType,
      createdAt: BigInt(now()) * 1_000_000n,
      podSandboxStatus: sandbox && viewSandboxStatus(sandbox),
      containersStatuses: containers.map((container) =>
        viewContainerStatus(container, sandbox?.config.logDirectory ?? ''),
      ),
    };
  }

  return {
    handlers: {
      getContainerEvents: (stream: ServerWritableStream<GetEventsRequest, object>) => subscribers.add(stream),
    },
    publish(event) {
      const response = toResponse(event);
      if (response !== undefined) subscribers.write(response);
    },
  };
}

/** Returns topic and message of the containerd event for a store event. */
function toContainerd(event: StoreEvent): readonly [topic: string, type: string, body: object] {
  switch (event.kind) {
    case 'created':
      return ['/containers/create', 'ContainerCreate', { id: event.id }];
    case 'started':
      return ['/tasks/start', 'TaskStart', { containerId: event.id, pid: 1 }];
    case 'oom':
      return ['/tasks/oom', 'TaskOOM', { containerId: event.id }];
    case 'deleted':
      return ['/containers/delete', 'ContainerDelete', { id: event.id }];
    case 'stopped': {
      const exitedAt = toTimestamp(event.exitedAtMs);
      const body = { containerId: event.id, id: event.id, pid: 1, exitStatus: event.exitCode, exitedAt };
      return ['/tasks/exit', 'TaskExit', body];
    }
    default:
      return event satisfies never;
  }
}

function toTimestamp(ms: number): { seconds: bigint; nanos: number } {
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) };
}

export function createContainerdEvents(types: MessageTypes, now: () => number): EventStream {
  const subscribers = createSubscribers();
  return {
    handlers: { subscribe: (stream: ServerWritableStream<object, object>) => subscribers.add(stream) },
    publish(event) {
      const [topic, name, body] = toContainerd(event);
      const typeUrl = `containerd.events.${name}`;
      const value = types.type(typeUrl).encode(body);
      const timestamp = toTimestamp(now());
      subscribers.write({ timestamp, namespace: CONTAINERD_CRI_NAMESPACE, topic, event: { typeUrl, value } });
    },
  };
}
