import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { podIdentity } from '../pod-identity/identity.ts';
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

/** A worker whose pod terminates when the test says so. */
function fakeWorker(pod: Pod, done: string[]) {
  const gone = Promise.withResolvers<boolean>();
  const worker = {
    pod,
    identity: podIdentity(pod),
    removing: false,
    run: () => gone.promise,
    status: () => ({}),
    update: (next: Pod) => {
      worker.pod = next;
      return Promise.resolve();
    },
    finish: (end: { phase: string }) => {
      done.push(`${pod.metadata?.name} ${end.phase}`);
      return Promise.resolve();
    },
    remove(graceSeconds: number) {
      worker.removing = true;
      done.push(`${pod.metadata?.name} removed ${graceSeconds}s`);
    },
  };
  return { worker, end: () => gone.resolve(true) };
}

function setup(more: Partial<PodManagerDeps> = {}) {
  const started: string[] = [];
  const errors: string[] = [];
  const done: string[] = [];
  const ends = new Map<string, () => void>();
  const note = (_: object, message: string): void => void errors.push(message);
  const log: Logger = { ...silentLogger, warn: note, error: note };
  const manager = new PodManager({
    clock: createFakeClock(),
    log,
    createWorker({ pod, terminal }) {
      const { name = '' } = pod.metadata ?? {};
      if (name === 'bad') throw new Error('cannot be admitted');
      const { worker, end } = fakeWorker(pod, done);
      started.push(terminal === undefined ? name : `${name} ${terminal.phase}`);
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
  return { manager, started, errors, done, end };
}

describe('PodManager', () => {
  test('admits the other pods when one fails', () => {
    const { manager, started, errors } = setup();
    manager.apply(desiredOf(podOf('a', '1'), podOf('bad', '2'), podOf('c', '3')));
    expect(started).toEqual(['a', 'c']);
    expect(errors).toEqual(['Failed to admit pod']);
  });

  describe('a pod is admitted beside', () => {
    const old = podOf('old', '1');
    const deleted: Pod = { ...old, metadata: { ...old.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    test.each<readonly [string, DesiredState, readonly string[]]>([
      ['those that are desired', desiredOf(podOf('old', '1'), podOf('new', '2')), ['old']],
      ['those that terminate while their object exists', desiredOf(deleted, podOf('new', '2')), ['old']],
      ['none whose object is gone', desiredOf(podOf('new', '2')), []],
      ['none whose object was replaced', desiredOf(podOf('old', '3'), podOf('new', '2')), []],
      [
        'those of a source that is not read',
        { ...desiredOf(podOf('new', '2')), unread: [ORIGIN.source] },
        ['old'],
      ],
    ])('%s', (_, state, expected) => {
      const beside: (readonly string[])[] = [];
      const { manager } = setup({
        refuse(source, others) {
          if (source.pod.metadata?.name === 'new')
            beside.push(others.map(({ pod }) => pod.metadata?.name ?? ''));
          return undefined;
        },
      });
      manager.apply(desiredOf(podOf('old', '1')));
      manager.apply(state);
      expect(beside).toEqual([expected]);
    });
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

  test('releases the name of a pod whose record cannot be removed', async () => {
    const { manager, started, errors, end } = setup({
      forget: () => Promise.reject(new Error('read-only file system')),
    });
    manager.apply(desiredOf(podOf('a', '1')));
    manager.apply(desiredOf());
    await end('a');
    manager.apply(desiredOf(podOf('a', '1')));
    expect(started).toEqual(['a', 'a']);
    expect(errors).toEqual(['Failed to remove pod record']);
  });

  describe('of the API server', () => {
    const fromServer = (...pods: readonly Pod[]): DesiredState => ({
      ...desiredOf(),
      pods: pods.map((pod) => ({ pod, origin: { source: 'api', location: 'default/a', document: '' } })),
    });
    const deleted = (pod: Pod): Pod => ({
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 7 },
    });
    const seen = (): { ended: string[]; more: Partial<PodManagerDeps> } => {
      const ended: string[] = [];
      const note = (pod: Pod, status: unknown) =>
        void ended.push(`${pod.metadata?.name} ${status === undefined ? 'unknown' : 'known'}`);
      return { ended, more: { ended: note } };
    };

    test('updates a pod in place', async () => {
      const { manager, started, done } = setup();
      manager.apply(fromServer(podOf('a', '1')));
      manager.apply(fromServer({ ...podOf('a', '1'), spec: { containers: [], activeDeadlineSeconds: 5 } }));
      expect(manager.find('default', 'a')?.pod.spec?.activeDeadlineSeconds).toBe(5);
      expect(started).toEqual(['a']);
      expect(done).toEqual([]);
    });

    test('removes a deleted pod, reports its removal, and does not start it again', async () => {
      const { ended, more } = seen();
      const { manager, started, done, end } = setup(more);
      manager.apply(fromServer(podOf('a', '1')));
      manager.apply(fromServer(deleted(podOf('a', '1'))));
      expect(done).toEqual(['a removed 7s']);
      await end('a');
      expect(started).toEqual(['a']);
      expect(ended[0]).toBe('a known');
      // Nothing is left on this node, but the server still has the object.
      expect(manager.entries()).toEqual([]);
      expect(manager.listed().map(({ pod }) => pod.metadata?.uid)).toEqual(['1']);
      manager.apply(fromServer());
      expect(manager.listed()).toEqual([]);
      expect(manager.knows('1')).toBe(false);
    });

    test('a pod that reuses the name of a removed one is listed alone', async () => {
      const { manager, end } = setup();
      manager.apply(fromServer(deleted(podOf('a', '1'))));
      manager.apply(fromServer(podOf('a', '2')));
      manager.apply(fromServer(deleted(podOf('a', '2'))));
      await end('a');
      manager.apply(fromServer(podOf('a', '3')));
      expect(manager.listed().map(({ pod }) => pod.metadata?.uid)).toEqual(['3']);
    });

    test('does not start a pod that is already deleted', () => {
      const { ended, more } = seen();
      const { manager, started } = setup(more);
      manager.apply(fromServer(deleted(podOf('a', '1'))));
      expect(started).toEqual([]);
      expect(ended).toEqual(['a unknown']);
    });

    test('removes a recovered pod that is deleted', () => {
      const { manager, done } = setup();
      const [wanted] = fromServer(deleted(podOf('a', '1'))).pods;
      if (wanted === undefined) throw new Error('no pod');
      manager.restore([{ pod: podOf('a', '1'), origin: wanted.origin, startedAtMs: 1, terminal: undefined }]);
      manager.apply(fromServer(wanted.pod));
      expect(done).toEqual(['a removed 7s']);
    });

    test('does not rerun a pod that is terminal on the server', () => {
      const { manager, started, done } = setup();
      manager.apply(fromServer({ ...podOf('a', '1'), status: { phase: 'Succeeded' } }, podOf('b', '2')));
      expect(started).toEqual(['a Succeeded', 'b']);
      manager.apply(fromServer({ ...podOf('b', '2'), status: { phase: 'Failed' } }));
      expect(done).toContain('b Failed');
    });
  });
});
