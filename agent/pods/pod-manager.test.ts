import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { DesiredState } from '../sources/types.ts';
import { PodManager, type PodManagerDeps } from './pod-manager.ts';
import type { PodWorker } from './worker.ts';

const ORIGIN = { source: 'file', location: '/m/a.yaml', document: '1' } as const;
const podOf = (name: string, uid: string): Pod => ({
  metadata: { name, namespace: 'default', uid },
  spec: { containers: [] },
});
const desiredOf = (...pods: readonly Pod[]): DesiredState => ({
  pods: pods.map((pod) => ({ pod, origin: ORIGIN })),
  objects: [],
  rejected: [],
  conflicts: [],
  complete: true,
  unread: [],
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A worker that ends its pod when the test says so. */
function fakeWorker(pod: Pod) {
  const gone = Promise.withResolvers<boolean>();
  const worker = {
    pod,
    removing: false,
    run: () => gone.promise,
    status: () => ({}),
    remove() {
      worker.removing = true;
    },
  };
  return { worker, end: () => gone.resolve(true) };
}

function setup(more: Partial<PodManagerDeps> = {}) {
  const started: string[] = [];
  const faults: string[] = [];
  const ends = new Map<string, () => void>();
  const note = (_: object, message: string): void => void faults.push(message);
  const log: Logger = { ...silentLogger, warn: note, error: note };
  const manager = new PodManager({
    clock: createFakeClock(),
    log,
    createWorker({ pod }) {
      const { name = '' } = pod.metadata ?? {};
      if (name === 'bad') throw new Error('cannot be taken on');
      const { worker, end } = fakeWorker(pod);
      started.push(name);
      ends.set(name, end);
      return worker as unknown as PodWorker;
    },
    versionOf: (pod) => pod.metadata?.uid ?? '',
    forget: () => Promise.resolve(),
    changed: () => undefined,
    refuse: () => undefined,
    ...more,
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await turn();
  };
  manager.start(new AbortController().signal);
  return { manager, started, faults, end };
}

describe('PodManager', () => {
  test('takes the others on when one cannot be', () => {
    const { manager, started, faults } = setup();
    manager.apply(desiredOf(podOf('a', '1'), podOf('bad', '2'), podOf('c', '3')));
    expect(started).toEqual(['a', 'c']);
    expect(faults).toEqual(['Pod could not be taken on']);
  });

  test('starts no pod beside another one with its uid', async () => {
    const { manager, started, end } = setup();
    manager.apply(desiredOf(podOf('old', 'same')));
    manager.apply(desiredOf(podOf('new', 'same'), podOf('other', '2')));
    expect(started).toEqual(['old', 'other']);
    await end('old');
    expect(started).toEqual(['old', 'other', 'new']);
  });

  test('starts no pod beside one of an earlier agent with its uid', async () => {
    const { manager, started, end } = setup();
    const record = { pod: podOf('old', 'same'), origin: ORIGIN, startedAtMs: 1, terminal: undefined };
    manager.restore([record]);
    manager.apply(desiredOf(podOf('new', 'same')));
    expect(started).toEqual(['old']);
    await end('old');
    expect(started).toEqual(['old', 'new']);
  });

  test('frees the name of a pod whose record cannot be removed', async () => {
    const { manager, started, faults, end } = setup({
      forget: () => Promise.reject(new Error('read-only file system')),
    });
    manager.apply(desiredOf(podOf('a', '1')));
    manager.apply(desiredOf());
    await end('a');
    manager.apply(desiredOf(podOf('a', '1')));
    expect(started).toEqual(['a', 'a']);
    expect(faults).toEqual(['Pod record was not removed']);
  });
});
