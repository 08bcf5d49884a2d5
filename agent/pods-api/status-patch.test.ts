import { describe, expect, test } from 'vitest';
import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { mergedStatus, statusPatch } from './status-patch.ts';

const THEN = '2026-01-01T00:00:00Z';
const NOW = '2026-01-02T00:00:00Z';
const ready = (status: 'True' | 'False', lastTransitionTime = NOW) => ({
  type: 'Ready' as const,
  status,
  lastTransitionTime,
});
const pod = (gates: readonly string[] = []): Pod => ({
  spec: { containers: [], readinessGates: gates.map((conditionType) => ({ conditionType })) },
});
const patchOf = (own: PodStatus, known: Readonly<Record<string, unknown>>, of: Pod = pod()) =>
  statusPatch(mergedStatus(of, own, known, Date.parse(NOW)), known);

describe('the patch of a status', () => {
  test('is undefined when the server is up to date', () => {
    const own: PodStatus = { phase: 'Running', conditions: [ready('True')], podIPs: [{ ip: '10.0.0.1' }] };
    const known = { phase: 'Running', conditions: [ready('True', THEN)], podIPs: [{ ip: '10.0.0.1' }] };
    expect(patchOf(own, known)).toBeUndefined();
  });

  test('is undefined for empty against absent fields', () => {
    const container = { name: 'c', ready: true, restartCount: 0, image: 'i', imageID: 'i' };
    const own: PodStatus = { containerStatuses: [{ ...container, state: {}, lastState: {} }] };
    expect(patchOf(own, { containerStatuses: [container] })).toBeUndefined();
  });

  test('has only differing fields', () => {
    const own: PodStatus = { phase: 'Running', hostIP: '10.0.0.9', conditions: [ready('True')] };
    const known = { phase: 'Pending', hostIP: '10.0.0.9', conditions: [ready('True', THEN)] };
    expect(patchOf(own, known)).toEqual({ phase: 'Running' });
  });

  test('retains the transition time of an unchanged condition, and updates that of a changed one', () => {
    const known = { conditions: [{ ...ready('False', THEN), reason: 'ContainersNotReady' }] };
    const own: PodStatus = { conditions: [{ ...ready('False'), reason: 'PodFailed' }] };
    expect(patchOf(own, known)).toEqual({
      conditions: [{ ...ready('False', THEN), reason: 'PodFailed' }],
    });
    expect(patchOf({ conditions: [ready('True')] }, known)).toEqual({
      conditions: [{ ...ready('True', NOW), reason: null }],
    });
  });

  test.each([
    ['the time of the report', '2026-01-01T12:00:00Z', NOW],
    ['that on the server, whose clock is ahead', '2026-01-03T00:00:00Z', '2026-01-03T00:00:00Z'],
  ])('of a condition that another client changed later has %s', (_name, later, expected) => {
    const known = { conditions: [ready('False', later)] };
    expect(patchOf({ conditions: [ready('True', THEN)] }, known)).toEqual({
      conditions: [ready('True', expected)],
    });
  });

  test('does not change conditions of others', () => {
    const known = { conditions: [ready('True', THEN), { type: 'test.io/fine', status: 'True' }] };
    expect(patchOf({ conditions: [ready('True')] }, known)).toBeUndefined();
  });

  test('replaces addresses, and unsets removed fields', () => {
    const known = { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], reason: 'Old' };
    expect(patchOf({ podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }] }, known)).toEqual({
      podIP: '10.0.0.2',
      podIPs: [{ $patch: 'replace' }, { ip: '10.0.0.2' }],
      reason: null,
    });
  });

  test('retains the start time on the server', () => {
    expect(patchOf({ startTime: NOW }, { startTime: THEN })).toBeUndefined();
  });

  test('is not ready before every readiness gate is true', () => {
    const gated = pod(['test.io/a', 'test.io/b']);
    const known = { conditions: [ready('False', THEN), { type: 'test.io/a', status: 'True' }] };
    expect(patchOf({ conditions: [ready('True')] }, known, gated)).toEqual({
      conditions: [
        {
          ...ready('False', THEN),
          reason: 'ReadinessGatesNotReady',
          message: 'the status of pod readiness gate "test.io/b" is not "True"',
        },
      ],
    });
    const open = { conditions: [...known.conditions, { type: 'test.io/b', status: 'True' }] };
    expect(patchOf({ conditions: [ready('True')] }, open, gated)).toEqual({
      conditions: [ready('True', NOW)],
    });
  });

  test('retains the termination of containers that are gone from the runtime', () => {
    const ended = { name: 'c', containerID: 'x://1', state: { terminated: { exitCode: 3 } } };
    const own: PodStatus = {
      phase: 'Failed',
      containerStatuses: [
        { name: 'c', ready: false, restartCount: 0, image: '', imageID: '', state: { waiting: {} } },
      ],
    };
    expect(patchOf(own, { phase: 'Failed', containerStatuses: [ended] })).toBeUndefined();
    expect(
      patchOf({ ...own, phase: 'Running' }, { phase: 'Running', containerStatuses: [ended] }),
    ).toBeDefined();
  });

  test.each<[string, PodStatus, PodStatus, PodStatus]>([
    [
      'an end is never taken back',
      { phase: 'Running' },
      { phase: 'Failed', reason: 'Evicted', message: 'm' },
      { phase: 'Failed', reason: 'Evicted', message: 'm' },
    ],
    [
      'an end keeps its reason',
      { phase: 'Failed', reason: 'Evicted' },
      { phase: 'Failed' },
      { phase: 'Failed' },
    ],
    ['what ran is not pending again', { phase: 'Pending' }, { phase: 'Running' }, { phase: 'Running' }],
    ['a pod starts', { phase: 'Running' }, { phase: 'Pending' }, { phase: 'Running' }],
    ['a pod ends', { phase: 'Succeeded' }, { phase: 'Running' }, { phase: 'Succeeded' }],
    [
      'a pod that ended keeps its address',
      { phase: 'Failed' },
      { phase: 'Failed', podIP: '10.0.0.1' },
      { phase: 'Failed', podIP: '10.0.0.1', podIPs: [] },
    ],
  ])('%s', (_, own, known, merged) => {
    expect(mergedStatus(pod(), own, { ...known }, 0)).toEqual({ ...merged, conditions: [] });
  });
});
