import { expect, test } from 'vitest';
import { createPodTracker, type SeenPod } from './pod-tracker.ts';

const pod = (uid: string, more: Partial<SeenPod> = {}): SeenPod => ({
  type: 'MODIFIED',
  uid,
  deployment: 'app',
  revision: 'first',
  nodeName: '',
  phase: 'Pending',
  ready: false,
  ...more,
});

test('a pod is timed from its creation to its binding and to running', () => {
  const pods = createPodTracker();
  pods.take(pod('1', { type: 'ADDED' }), 100);
  pods.take(pod('1', { nodeName: 'n' }), 130);
  pods.take(pod('1', { nodeName: 'n', phase: 'Running', ready: true }), 180);
  pods.take(pod('1', { nodeName: 'n', phase: 'Running', ready: true }), 500);
  expect(pods.bindsMs(0)).toEqual([30]);
  expect(pods.startsMs(0)).toEqual([80]);
  expect(pods.startsMs(101)).toEqual([]);
  expect([pods.count, pods.ready, pods.readyOf('first')]).toEqual([1, 1, 1]);
});

test('a deleted pod is no longer counted, but its times are', () => {
  const pods = createPodTracker();
  pods.take(pod('1', { type: 'ADDED' }), 0);
  pods.take(pod('1', { phase: 'Running', ready: true }), 10);
  pods.take(pod('1', { type: 'DELETED', ready: true }), 20);
  expect([pods.count, pods.ready, pods.readyOf('first')]).toEqual([0, 0, 0]);
  expect(pods.startsMs(0)).toEqual([10]);
});

test('a pod that has not run is reported', () => {
  const pods = createPodTracker();
  pods.take(pod('1', { type: 'ADDED' }), 5);
  expect(pods.unstarted(0)).toBe(1);
  expect(pods.unstarted(6)).toBe(0);
});
