import { describe, expect, test } from 'vitest';
import { type ApplyEventDeps, applyEvent } from './apply-event.ts';
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

/** Timers run by hand; the runtime answers "over" at the look with this number. */
function setUp(overAtLook: number) {
  const view = new RuntimeView();
  const delays: number[] = [];
  const tasks: (() => void | Promise<void>)[] = [];
  const settled: string[] = [];
  let looks = 0;
  const deps: ApplyEventDeps = {
    view,
    now: () => 5_000,
    later(task, delayMs) {
      delays.push(delayMs);
      tasks.push(task);
    },
    refreshContainer() {
      looks += 1;
      return Promise.resolve(looks >= overAtLook);
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
  test('notes an exit at once, with the time of the event', () => {
    const { view, deps } = setUp(1);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    expect(view.container('c1')).toMatchObject({ state: 'exited', exitCode: 3, finishedAtMs: 4_000 });
    expect(view.container('c1')?.isProvisional).toBe(true);
  });

  test('looks for the rest of the exit until the runtime has followed', async () => {
    const { view, deps, delays, runAll } = setUp(4);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    await runAll();
    expect(delays).toEqual([75, 150, 300, 600]);
  });

  test('gives up on a runtime that never follows, and settles the end without it', async () => {
    const { view, deps, delays, runAll, settled } = setUp(Number.POSITIVE_INFINITY);
    view.noteContainer(container);
    applyEvent(deps, stopped);
    await runAll();
    expect(delays).toEqual([75, 150, 300, 600, 1200, 2400, 4800, 9600]);
    expect(settled).toEqual(['c1']);
  });

  test('a life that was over before its start was noted began when it was made', () => {
    const { view, deps } = setUp(1);
    view.noteContainer({ ...container, state: 'created', startedAtMs: 0 });
    applyEvent(deps, stopped);
    expect(view.container('c1')?.startedAtMs).toBe(900);
  });

  test('looks after the containers of a sandbox that stopped', async () => {
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

  test('remembers that memory ran out', () => {
    const { view, deps } = setUp(1);
    view.noteContainer(container);
    applyEvent(deps, { kind: 'oom', containerId: 'c1' });
    applyEvent(deps, stopped);
    expect(view.container('c1')?.reason).toBe(OOM_KILLED);
  });
});
