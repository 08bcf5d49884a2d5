/** Records of sandboxes while they are created. */
import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { DockerEvent, InspectedContainer } from '../client/parse.ts';
import type { SandboxNote } from '../config/labels.ts';
import { createConfigCodec } from '../config/messages.ts';
import { createdSandbox, createMirror, type Mirror, type RecordChange } from './mirror.ts';

const ID = 's1';
const INSPECTED: InspectedContainer = {
  id: ID,
  labels: {},
  imageId: 'i',
  createdAtNs: 1n,
  status: 'exited',
  isRunning: false,
  pid: 0,
  exitCode: 137,
  isOomKilled: false,
  error: '',
  startedAtNs: 2n,
  finishedAtNs: 3n,
  addresses: [],
  writableBytes: undefined,
};

function sandboxNote(): SandboxNote {
  const config = createConfigCodec().decodeSandbox('');
  if (config === undefined) throw new Error('an empty message is a configuration');
  return { kind: 'sandbox', config, runtimeHandler: '', network: 'host' };
}

const event = (action: string): DockerEvent => ({ action, id: ID, labels: {}, timeNs: 1n });

function mirrorWhile(isCreating: () => boolean): { mirror: Mirror; note: SandboxNote; changes: string[] } {
  const note = sandboxNote();
  const changes: string[] = [];
  const mirror = createMirror({
    clock: createFakeClock(),
    client: { inspect: () => Promise.resolve(INSPECTED) },
    parseNote: () => note,
    completeLog: () => Promise.resolve(),
    addressesOf: () => Promise.resolve([]),
    forget: () => undefined,
    isCreating,
  });
  mirror.onChange(({ kind }: RecordChange) => changes.push(kind));
  return { mirror, note, changes };
}

const readySandbox = (note: SandboxNote) => ({ ...createdSandbox(note, ID, 1n), isReady: true });

test('a sandbox that is being created is not listed before it is ready', () => {
  const { mirror, note, changes } = mirrorWhile(() => true);
  mirror.applyEvent(event('create'));
  expect(mirror.sandboxes()).toEqual([]);
  mirror.put(readySandbox(note));
  expect(mirror.sandboxes()).toMatchObject([{ id: ID, isReady: true }]);
  expect(changes).toEqual(['created', 'started']);
});

test('a sandbox of another creator is listed at once', () => {
  const { mirror } = mirrorWhile(() => false);
  mirror.applyEvent(event('create'));
  expect(mirror.sandboxes()).toMatchObject([{ id: ID, isReady: false }]);
});

test('a sandbox that ended while it was created is not ready', async () => {
  const { mirror, note, changes } = mirrorWhile(() => true);
  mirror.applyEvent(event('die'));
  mirror.put(readySandbox(note));
  await mirror.settle(ID);
  expect(mirror.sandboxes()).toMatchObject([{ id: ID, isReady: false }]);
  expect(changes).toEqual(['created', 'started', 'stopped']);
});

test('a failed creation leaves no record', () => {
  const { mirror } = mirrorWhile(() => true);
  for (const action of ['create', 'die', 'destroy']) mirror.applyEvent(event(action));
  expect(mirror.sandboxes()).toEqual([]);
});
