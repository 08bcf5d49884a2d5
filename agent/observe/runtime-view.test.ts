import { describe, expect, test } from 'vitest';
import { mergeContainer, mergeSandbox, OOM_KILLED, RuntimeView } from './runtime-view.ts';
import type { ObservedContainer, ObservedSandbox } from './types.ts';

const container = (change: Partial<ObservedContainer> = {}): ObservedContainer => ({
  id: 'c1',
  podUID: 'u1',
  sandboxId: 's1',
  name: 'a',
  kind: 'app',
  attempt: 0,
  state: 'running',
  createdAtMs: 1,
  startedAtMs: 2,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'i',
  imageID: '',
  hash: 'h',
  fallsBackToLogs: false,
  ...change,
});
const sandbox = (change: Partial<ObservedSandbox> = {}): ObservedSandbox => ({
  id: 's1',
  podUID: 'u1',
  podNamespace: 'default',
  podName: 'web',
  attempt: 0,
  ready: true,
  createdAtMs: 1,
  ips: ['10.0.0.2'],
  ...change,
});

describe('mergeContainer', () => {
  test.each([
    ['created', 'running', 'running'],
    ['running', 'exited', 'exited'],
    ['running', 'created', 'running'],
    ['exited', 'running', 'exited'],
    ['exited', 'unknown', 'exited'],
    ['unknown', 'running', 'running'],
    ['running', 'unknown', 'unknown'],
  ] as const)('merges %s and %s to %s', (before, seen, expected) => {
    expect(mergeContainer(container({ state: before }), container({ state: seen })).state).toBe(expected);
  });

  test('retains details of the older observation', () => {
    const old = container({ state: 'exited', finishedAtMs: 9, message: 'bye', imageID: 'sha' });
    const seen = container({
      state: 'exited',
      sandboxId: '',
      startedAtMs: 0,
      exitCode: 137,
      reason: 'Error',
    });
    expect(mergeContainer(old, seen)).toMatchObject({
      sandboxId: 's1',
      startedAtMs: 2,
      finishedAtMs: 9,
      message: 'bye',
      imageID: 'sha',
      exitCode: 137,
      reason: 'Error',
    });
  });

  test('retains an OOM kill reported by an event', () => {
    const old = container({ reason: OOM_KILLED });
    expect(mergeContainer(old, container({ state: 'exited', reason: 'Error' })).reason).toBe(OOM_KILLED);
  });
});

test('mergeSandbox: a dead sandbox stays dead, known addresses stay', () => {
  expect(mergeSandbox(sandbox({ ready: false }), sandbox({ ips: [] }))).toEqual(sandbox({ ready: false }));
});

describe('RuntimeView', () => {
  test('returns a pod newest first, and the same object until it changes', () => {
    const view = new RuntimeView();
    view.noteContainer(container());
    view.noteContainer(container({ id: 'c2', attempt: 1 }));
    const seen = view.pod('u1');
    expect(seen.containers.map(({ id }) => id)).toEqual(['c2', 'c1']);
    view.noteContainer(container());
    expect(view.pod('u1')).toBe(seen);
    view.noteContainer(container({ state: 'exited' }));
    expect(view.pod('u1')).not.toBe(seen);
  });

  test('notifies of changes only, until unsubscribed', () => {
    const view = new RuntimeView();
    const notified: string[] = [];
    const undo = view.onChange((podUID) => notified.push(podUID));
    view.noteSandbox(sandbox());
    view.noteSandbox(sandbox());
    view.forgetSandbox('s1');
    view.forgetSandbox('s1');
    undo();
    view.noteSandbox(sandbox());
    expect(notified).toEqual(['u1', 'u1']);
  });

  test('a list removes missing objects, except those recorded since its request', () => {
    const view = new RuntimeView();
    view.noteContainer(container());
    const mark = view.mark();
    view.noteContainer(container({ id: 'c2' }));
    view.replace({ sandboxes: [], containers: [] }, mark);
    expect(view.containers().map(({ id }) => id)).toEqual(['c2']);
  });

  test('a list does not restore objects removed since its request', () => {
    const view = new RuntimeView();
    view.noteSandbox(sandbox());
    view.noteContainer(container());
    const mark = view.mark();
    view.forgetContainer('c1');
    view.forgetSandbox('s1');
    view.replace({ sandboxes: [sandbox()], containers: [container()] }, mark);
    expect(view.podUIDs().size).toBe(0);
    view.replace({ sandboxes: [sandbox()], containers: [] }, view.mark());
    expect(view.sandbox('s1')).toEqual(sandbox());
  });
});
