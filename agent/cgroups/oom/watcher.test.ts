import { expect, test, vi } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { ObservedContainer } from '../../observe/types.ts';
import { createOomWatcher, type OomWatcher } from './watcher.ts';

const ID = 'cd'.repeat(32);
/** Timeout on a busy machine. */
const PATIENT = { timeout: 10_000 };
const ended: ObservedContainer = {
  id: ID,
  podUID: 'u1',
  sandboxId: 's',
  name: 'c',
  kind: 'app',
  attempt: 0,
  state: 'exited',
  // After the start of the watcher, however long the tests take to begin.
  createdAtMs: Date.now() + 3_600_000,
  startedAtMs: 1,
  finishedAtMs: 2,
  exitCode: 137,
  reason: 'Error',
  message: '',
  image: '',
  imageID: '',
  hash: '',
  fallsBackToLogs: false,
};
const record = (limit: string): string =>
  `6,1,2,-;oom-kill:constraint=X,nodemask=(null),cpuset=/,mems_allowed=0,${limit},task_memcg=/p/podu1/${ID},task=hog,pid=7,uid=0\n`;

function world(records: readonly string[], kills?: number): { watcher: OomWatcher; reported: string[] } {
  const reported: string[] = [];
  const queue = [...records];
  const watcher = createOomWatcher({
    read: () => Promise.resolve(queue.splice(0)),
    container: (id) => (id === ID ? ended : undefined),
    containers: () => [ended],
    pod: () => ({ metadata: { name: 'p' } }),
    countKills: () => Promise.resolve(kills),
    recordOomKill: (id) => reported.push(`killed ${id === ID ? 'c' : id}`),
    event: (_, type, reason, message) => reported.push(`${type} ${reason} ${message}`),
    nodeEvent: ({ type, reason, message }) => reported.push(`node ${type} ${reason} ${message}`),
    clock: systemClock,
    log: silentLogger,
  });
  return { watcher, reported };
}

test.each([
  ['a container', `oom_memcg=/p/podu1/${ID}`, 'its memory limit was reached', []],
  ['a pod', 'oom_memcg=/p/podu1', 'the memory limit of its pod was reached', []],
  [
    'the machine',
    'global_oom',
    'the memory of the node ran out',
    ['node Warning SystemOOM System OOM encountered, victim process: hog, pid: 7'],
  ],
])('a kill for the memory of %s is reported once, with its reason', async (_, limit, why, first) => {
  const { watcher, reported } = world([record(limit)], 1);
  watcher.runtimeTold(ID);
  watcher.podChanged('u1');
  watcher.podChanged('u1');
  const event = `Warning OOMKilling The kernel killed process hog (7) of container c: ${why}`;
  await vi.waitFor(() => expect(reported).toEqual([...first, 'killed c', event, 'killed c']), PATIENT);
});

test('without the kernel log the report of the runtime counts', async () => {
  const { watcher, reported } = world([]);
  watcher.runtimeTold(ID);
  await vi.waitFor(
    () => expect(reported).toEqual(['Warning OOMKilling The memory limit of container c was reached']),
    PATIENT,
  );
});

test('a reason that the runtime lost is corrected by the kernel’s count', async () => {
  const { watcher, reported } = world([], 1);
  watcher.podChanged('u1');
  await vi.waitFor(() => expect(reported[0]).toBe('killed c'), PATIENT);
  const none = world([], 0);
  none.watcher.podChanged('u1');
  none.watcher.runtimeTold('unknown');
  await new Promise((resolve) => setImmediate(resolve));
  expect(none.reported).toEqual([]);
});
