import { describe, expect, test } from 'vitest';
import type { ContainerState, Pod, PodStatus } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { DesiredState, ManifestOrigin } from '../sources/types.ts';
import { type RunOnceOutcome, runOnceOutcome, untilStartedOnce } from './run-once.ts';
import type { PodEntry } from './slot.ts';

const origin: ManifestOrigin = { source: 'file', location: 'm/web.yaml', document: '1' };
const pod = (name: string): Pod => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: { containers: [{ name: 'main' }, { name: 'side' }] },
});
const desired = (names: readonly string[], more: Partial<DesiredState> = {}): DesiredState => ({
  pods: names.map((name) => ({ pod: pod(name), origin })),
  objects: [],
  rejected: [],
  conflicts: [],
  complete: true,
  unread: [],
  ...more,
});
const status = (...states: readonly ContainerState[]): PodStatus => ({
  phase: 'Running',
  containerStatuses: states.map((state, index) => ({
    name: ['main', 'side'][index] ?? '',
    state,
    ready: true,
    restartCount: 0,
    image: '',
    imageID: '',
  })),
});
const entry = (name: string, of: PodStatus, end?: PodEntry['end']): PodEntry => ({
  pod: pod(name),
  origin,
  status: of,
  end,
  deletion: undefined,
});

const running: ContainerState = { running: {} };
const pulling: ContainerState = { waiting: { reason: 'ErrImagePull', message: 'no such image' } };

describe('outcome of the run', () => {
  test.each<[string, PodEntry | undefined, Partial<RunOnceOutcome>]>([
    ['a pod whose containers run', entry('a', status(running, running)), { started: ['default/a'] }],
    ['a pod that has succeeded', entry('a', { phase: 'Succeeded' }), { started: ['default/a'] }],
    [
      'a pod that was rejected',
      entry('a', { phase: 'Failed', reason: 'OutOfcpu', message: 'too few' }),
      { failed: ['default/a: OutOfcpu: too few'] },
    ],
    ['a pod that was not admitted', undefined, { pending: ['default/a: not admitted yet'] }],
    [
      'a pod with a container that waits',
      entry('a', status(running, pulling)),
      { pending: ['default/a: container side is not running: ErrImagePull: no such image'] },
    ],
    [
      'an earlier pod of the same name',
      { ...entry('a', status(running, running)), pod: { metadata: { uid: 'other' } } },
      { pending: ['default/a: not admitted yet'] },
    ],
  ])('%s', (_, found, expected) => {
    expect(runOnceOutcome(desired(['a']), () => found)).toEqual({
      started: [],
      failed: [],
      pending: [],
      ...expected,
    });
  });

  test('is unknown until every source was read', () => {
    expect(runOnceOutcome(desired([], { complete: false }), () => undefined)).toBeUndefined();
  });

  test('names rejected manifests', () => {
    const errors = [{ kind: 'FieldValueRequired', field: 'spec', detail: 'must be given' } as const];
    const rejected = [{ origin, identity: 'Pod default/x', errors }];
    expect(runOnceOutcome(desired([], { rejected }), () => undefined)?.failed).toEqual([
      expect.stringMatching(/web\.yaml.*Pod default\/x.*spec/),
    ]);
  });
});

describe('wait for the pods', () => {
  const setUp = () => {
    const clock = createFakeClock();
    const changes = createListeners('test');
    const state: { outcome: RunOnceOutcome | undefined } = { outcome: undefined };
    const stop = new AbortController();
    const deps = {
      clock,
      outcome: () => state.outcome,
      onChange: (listener: () => void) => changes.add(listener),
    };
    return { clock, changes, state, stop, done: untilStartedOnce(deps, stop.signal) };
  };
  const pending = { started: [], failed: [], pending: ['default/a'] };

  test('ends when no pod is pending', async () => {
    const { changes, state, done } = setUp();
    changes.notify();
    state.outcome = pending;
    changes.notify();
    state.outcome = { ...pending, pending: [], started: ['default/a'] };
    changes.notify();
    expect(await done).toEqual(state.outcome);
    expect(changes.size).toBe(0);
  });

  test('ends after the limit with the pods that do not run', async () => {
    const { clock, state, done } = setUp();
    state.outcome = pending;
    await clock.advance(1023 * 1000);
    expect(await done).toEqual(pending);
  });

  test('ends at a stop signal', async () => {
    const { stop, done } = setUp();
    stop.abort();
    expect(await done).toBeUndefined();
  });
});
