import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { podOf } from '../workloads-kit/kit.fixture.ts';
import {
  BURST_REPLICAS,
  choosePodsToRemove,
  decideReplicas,
  replicaStatus,
  untilChangeMs,
} from './decide.ts';

describe('decideReplicas', () => {
  test.each([
    [3, 1, 2],
    [1, 3, -2],
    [2, 2, 0],
    [10_000, 0, BURST_REPLICAS],
    [0, 10_000, -BURST_REPLICAS],
  ])('%d wanted, %d there: %d', (wanted, actual, expected) => {
    expect(decideReplicas(wanted, actual)).toBe(expected);
  });

  test('reaches the desired number and never exceeds it', () => {
    fc.assert(
      fc.property(fc.nat(5000), fc.nat(5000), (wanted, start) => {
        let actual = start;
        for (let step = 0; step < 20 && actual !== wanted; step += 1) {
          const change = decideReplicas(wanted, actual);
          expect(Math.sign(change)).toBe(Math.sign(wanted - actual));
          actual += change;
        }
        expect(actual).toBe(wanted);
      }),
    );
  });
});

describe('choosePodsToRemove', () => {
  const facts = {
    nowMs: 1000,
    logarithmic: true,
    deletionCost: () => 0,
    neighbours: (node: string) => (node === 'full' ? 3 : 1),
  };

  test('removes from the node with the most replicas', () => {
    const pods = [podOf('a', { nodeName: 'empty' }), podOf('b', { nodeName: 'full' })];
    expect(choosePodsToRemove(pods, 1, facts).map(({ name }) => name)).toEqual(['b']);
  });

  test('removes the pod with the lowest deletion cost', () => {
    const pods = [podOf('a'), podOf('b')];
    const deletionCost = ({ name }: { name: string }): number => (name === 'a' ? 5 : -5);
    expect(choosePodsToRemove(pods, 1, { ...facts, deletionCost })).toEqual([pods[1]]);
  });
});

describe('replicaStatus', () => {
  const spec = { replicas: 3, minReadySeconds: 10, templateLabels: { app: 'a' } };
  const pods = [
    podOf('a', { labels: { app: 'a' }, readySinceMs: 0 }),
    podOf('b', { labels: { app: 'a' }, readySinceMs: 5000 }),
    podOf('c', { labels: { app: 'other' }, ready: false }),
  ];
  const before = { generation: 4, conditions: undefined, failure: undefined };
  const time = { nowMs: 10_000, now: 'now' };

  test('counts', () => {
    expect(replicaStatus(spec, pods, before, time)).toEqual({
      replicas: 3,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 1,
      observedGeneration: 4,
    });
    expect(untilChangeMs(spec, pods, 10_000)).toBe(5000);
  });

  test('omits zeros, and has a condition while creation fails', () => {
    const failure = { reason: 'FailedCreate', message: 'no' } as const;
    const failing = replicaStatus(spec, [], { ...before, failure }, time);
    expect(failing).toEqual({
      replicas: 0,
      observedGeneration: 4,
      conditions: [{ type: 'ReplicaFailure', status: 'True', lastTransitionTime: 'now', ...failure }],
    });
    const { conditions } = failing;
    expect(replicaStatus(spec, [], { ...before, conditions }, time)).toEqual({
      replicas: 0,
      observedGeneration: 4,
    });
  });
});
