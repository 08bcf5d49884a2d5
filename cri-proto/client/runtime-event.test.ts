import { describe, expect, test } from 'vitest';
import { createMessageTypes } from '#api/codec/protobuf/message.ts';
import eventsTable from '../data/containerd-events.json' with { type: 'json' };
import type { ContainerStatus } from '../gen/cri-v1.ts';
import { type ContainerdEvent, parseContainerdEvent } from './containerd-events.ts';
import { type CriContainerEvent, fromContainerdEvent, fromCriEvent } from './runtime-event.ts';

const types = createMessageTypes(eventsTable);
const exitedAt = { seconds: 1_700_000_000n, nanos: 250_000_000 };
const exitedAtMs = 1_700_000_000_250;

function parse(type: string, body: object, namespace = 'ns'): ContainerdEvent | undefined {
  const name = type.slice(type.lastIndexOf('/') + 1);
  const known = Object.hasOwn(eventsTable.messages, name);
  const value = known ? types.type(name).encode(body) : new Uint8Array(0);
  const envelope = types.type('Envelope').encode({ namespace, topic: '/x', event: { typeUrl: type, value } });
  return parseContainerdEvent(types, types.type('Envelope').decode(envelope), 'ns');
}

describe('parseContainerdEvent', () => {
  const end = { containerId: 'c', pid: 7, exitStatus: 3, exitedAt };
  const exit = { containerId: 'c', pid: 7, exitStatus: 3, exitedAtMs };

  test.each([
    ['TaskExit', { ...end, id: 'c' }, { kind: 'task-exit', execId: undefined, ...exit }],
    ['TaskExit', { ...end, id: 'probe' }, { kind: 'task-exit', execId: 'probe', ...exit }],
    ['TaskDelete', { ...end, id: '' }, { kind: 'task-delete', execId: undefined, ...exit }],
    ['TaskStart', { containerId: 'c', pid: 7 }, { kind: 'task-start', containerId: 'c', pid: 7 }],
    ['TaskCreate', { containerId: 'c', pid: 7 }, { kind: 'task-create', containerId: 'c', pid: 7 }],
    ['TaskOOM', { containerId: 'c' }, { kind: 'task-oom', containerId: 'c' }],
    ['ContainerCreate', { id: 'c', image: 'i' }, { kind: 'container-create', containerId: 'c', image: 'i' }],
    ['ContainerDelete', { id: 'c' }, { kind: 'container-delete', containerId: 'c' }],
    ['SandboxCreate', { sandboxId: 's' }, { kind: 'sandbox-create', sandboxId: 's' }],
    ['SandboxStart', { sandboxId: 's' }, { kind: 'sandbox-start', sandboxId: 's' }],
    [
      'SandboxExit',
      { sandboxId: 's', exitStatus: 1 },
      { kind: 'sandbox-exit', sandboxId: 's', exitStatus: 1 },
    ],
    ['ImageCreate', { name: 'i' }, { kind: 'image-create', name: 'i' }],
    ['ImageUpdate', { name: 'i' }, { kind: 'image-update', name: 'i' }],
    ['ImageDelete', { name: 'i' }, { kind: 'image-delete', name: 'i' }],
  ])('reads %s %o', (type, body, expected) => {
    expect(parse(`containerd.events.${type}`, body)).toEqual(expected);
  });

  test('accepts a type with a URL prefix', () => {
    expect(parse('types.example/containerd.events.TaskOOM', { containerId: 'c' })?.kind).toBe('task-oom');
  });

  test.each([
    ['of another namespace', 'containerd.events.TaskOOM', 'other'],
    ['of an unknown type', 'containerd.events.SnapshotPrepare', 'ns'],
  ])('skips an event %s', (_, type, namespace) => {
    expect(parse(type, {}, namespace)).toBeUndefined();
  });

  test('skips an envelope without an event', () => {
    expect(parseContainerdEvent(types, { namespace: 'ns' }, 'ns')).toBeUndefined();
  });
});

describe('fromContainerdEvent', () => {
  const exit = { containerId: 'c', pid: 1, exitStatus: 137 };

  test.each<[ContainerdEvent, object | undefined]>([
    [
      { kind: 'container-create', containerId: 'c', image: '' },
      { kind: 'created', containerId: 'c' },
    ],
    [{ kind: 'task-create', containerId: 'c', pid: 1 }, undefined],
    [
      { kind: 'task-start', containerId: 'c', pid: 1 },
      { kind: 'started', containerId: 'c' },
    ],
    [
      { kind: 'task-oom', containerId: 'c' },
      { kind: 'oom', containerId: 'c' },
    ],
    [
      { kind: 'task-exit', execId: undefined, exitedAtMs, ...exit },
      { kind: 'stopped', containerId: 'c', exitCode: 137, exitedAtMs },
    ],
    [
      { kind: 'task-exit', execId: undefined, exitedAtMs: undefined, ...exit },
      { kind: 'stopped', containerId: 'c', exitCode: 137 },
    ],
    [{ kind: 'task-exit', execId: 'probe', exitedAtMs, ...exit }, undefined],
    [{ kind: 'task-delete', execId: undefined, exitedAtMs, ...exit }, undefined],
    [
      { kind: 'container-delete', containerId: 'c' },
      { kind: 'deleted', containerId: 'c' },
    ],
    [
      { kind: 'sandbox-create', sandboxId: 's' },
      { kind: 'created', containerId: 's' },
    ],
    [
      { kind: 'sandbox-start', sandboxId: 's' },
      { kind: 'started', containerId: 's' },
    ],
    [
      { kind: 'sandbox-exit', sandboxId: 's', exitStatus: 0, exitedAtMs },
      { kind: 'stopped', containerId: 's', exitCode: 0, exitedAtMs },
    ],
    [{ kind: 'image-create', name: 'i' }, undefined],
  ])('%o', (event, expected) => {
    expect(fromContainerdEvent(event)).toStrictEqual(expected);
  });
});

describe('fromCriEvent', () => {
  const running = { state: 'CONTAINER_RUNNING', exitCode: 0, finishedAt: 0n } as const;
  const event = (containerEventType: string, status: Partial<ContainerStatus> = {}): CriContainerEvent => ({
    containerId: 'c',
    containerEventType,
    containersStatuses: [
      { id: 'other', ...running },
      { id: 'c', ...running, ...status },
    ],
  });
  const exited = { state: 'CONTAINER_EXITED', exitCode: 3, finishedAt: 1_700_000_000_250_000_000n } as const;

  test.each([
    [event('CONTAINER_CREATED_EVENT'), { kind: 'created', containerId: 'c' }],
    [event('CONTAINER_STARTED_EVENT', exited), { kind: 'started', containerId: 'c' }],
    [
      event('CONTAINER_STOPPED_EVENT', exited),
      { kind: 'stopped', containerId: 'c', exitCode: 3, exitedAtMs },
    ],
    [
      event('CONTAINER_STOPPED_EVENT', { ...exited, finishedAt: 0n }),
      { kind: 'stopped', containerId: 'c', exitCode: 3 },
    ],
    [event('CONTAINER_STOPPED_EVENT'), { kind: 'stopped', containerId: 'c' }],
    [event('CONTAINER_DELETED_EVENT'), { kind: 'deleted', containerId: 'c' }],
    [
      { ...event('CONTAINER_STOPPED_EVENT'), containersStatuses: [] },
      { kind: 'stopped', containerId: 'c' },
    ],
    [event('9'), undefined],
  ])('%o', (given, expected) => {
    expect(fromCriEvent(given)).toStrictEqual(expected);
  });
});
