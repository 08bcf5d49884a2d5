import { expect, test } from 'vitest';
import { createMetricsRegistry } from './metrics.ts';
import { createQueueMetrics } from './work-queue-metrics.ts';

test('a queue is measured: depth, waiting time, working time, retries and work in flight', () => {
  const registry = createMetricsRegistry();
  let nowMs = 0;
  const observer = createQueueMetrics({ registry, clock: { monotonic: () => nowMs } })('job');
  const valueOf = (series: string): number =>
    Number(
      registry
        .text()
        .split('\n')
        .find((line) => line.startsWith(`workqueue_${series}{name="job"}`))
        ?.split(' ')[1],
    );
  observer.added('a');
  observer.added('b');
  expect([valueOf('depth'), valueOf('adds_total')]).toEqual([2, 2]);
  nowMs = 2000;
  observer.started('a');
  expect([valueOf('depth'), valueOf('queue_duration_seconds_sum')]).toEqual([1, 2]);
  nowMs = 5000;
  expect([valueOf('unfinished_work_seconds'), valueOf('longest_running_processor_seconds')]).toEqual([3, 3]);
  observer.finished('a', true);
  expect([valueOf('work_duration_seconds_sum'), valueOf('retries_total')]).toEqual([3, 1]);
  expect(valueOf('unfinished_work_seconds')).toBe(0);
});
