import { describe, expect, test } from 'vitest';
import { type ApplyEventDeps, applyEvent } from './observer.ts';
import { OOM_KILLED, RuntimeView } from './runtime-view.ts';
import type { ObservedContainer } from './types.ts';

const container: ObservedContainer = {
  id: 'c1',
  podUID: 'u1',
  sandboxId: 's1',
  name: 'app',
  kind: 'app',
  attempt: 0,
  state: 'running',
  createdAtMs: 900,
  startedAtMs: 1_000,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'image',
  imageID: 'sha256:1',
  hash: 'h',
  fallsBackToLogs: false,
};

/** Manual timers; the n-th status query reports that the container has exited. */
function setUp(exitedAtQuery: number) {
  const view = new RuntimeView();
  const delays: number[] = [];
  const tasks: (() => void | Promise<void>)[] = [];
  const settled: string[] = [];
  let queries = 0;
  const deps: ApplyEventDeps = {
    view,
    now: () => 5_000,
    later(task, delayMs) {
      delays.push(delayMs);
      tasks.push(task);
    },
    refreshContainer() {
      queries += 1;
      return Promise.resolve(queries >= exitedAtQuery);
    },
    settleContainer(id) {
      settled.push(id);
      return Promise.resolve();
    },
    relist: () => undefined,
  };
  const runAll = async (): Promise<void> => {
    for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) await task();
  };
  return { view, deps, delays, runAll, settled };
}

const stopped = { kind: 'stopped', containerId: 'c1', exitCode: 3, exitedAtMs: 4_000 } as const;

describe('applyEvent', () => {
  test('records an exit immediately, with the time of the event', () => {
    const { view, deps } = setUp(1);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    expect(view.container('c1')).toMatchObject({ state: 'exited', exitCode: 3, finishedAtMs: 4_000 });
    expect(view.container('c1')?.isProvisional).toBe(true);
  });

  test('queries the details of the exit until the runtime has followed', async () => {
    const { view, deps, delays, runAll } = setUp(4);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    await runAll();
    expect(delays).toEqual([75, 150, 300, 600]);
  });

  test('completes the exit without a runtime that never follows', async () => {
    const { view, deps, delays, runAll, settled } = setUp(Number.POSITIVE_INFINITY);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    await runAll();
    expect(delays).toEqual([75, 150, 300, 600, 1200, 2400, 4800, 9600]);
    expect(settled).toEqual(['c1']);
  });

  test('a container that exited before its start was recorded started at its creation', () => {
    const { view, deps } = setUp(1);
    view.noteContainer({ ...container, state: 'created', startedAtMs: 0 });
    applyEvent(deps, stopped);
    expect(view.container('c1')?.startedAtMs).toBe(900);
  });

  test('refreshes the containers of a stopped sandbox', async () => {
    const { view, deps, delays, runAll } = setUp(1);
    const sandbox = { id: 's1', podUID: 'u1', podNamespace: 'default', podName: 'p', attempt: 0 };
    view.noteSandbox({ ...sandbox, ready: true, createdAtMs: 800, ips: [] });
    view.noteContainer(container);
    view.noteContainer({ ...container, id: 'c2', name: 'done', state: 'exited' });
    applyEvent(deps, { ...stopped, containerId: 's1' });
    expect(view.sandbox('s1')?.ready).toBe(false);
    await runAll();
    expect(delays).toEqual([75]);
  });

  test('retains the OOM kill', () => {
    const { view, deps } = setUp(1);
    view.noteContainer(container);
    applyEvent(deps, { kind: 'oom', containerId: 'c1' });
    applyEvent(deps, stopped);
    expect(view.container('c1')?.reason).toBe(OOM_KILLED);
  });
});
