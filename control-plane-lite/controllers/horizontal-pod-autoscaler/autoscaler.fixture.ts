/** Pods and metrics for tests of the autoscaler. */
import type { PodMetric, ScaledPod } from './facts.ts';

export const NOW: number = Date.parse('2026-01-01T12:00:00Z');

/** A pod that has been ready for long, with a CPU request in thousandths. */
export const pod = (name: string, requestMilli = 1000, changes: Partial<ScaledPod> = {}): ScaledPod => ({
  name,
  deleting: false,
  phase: 'Running',
  startMs: NOW - 3_600_000,
  ready: { status: 'True', sinceMs: NOW - 3_500_000 },
  containers: [{ name: 'main', requests: { cpu: `${requestMilli}m`, memory: '1Gi' } }],
  ...changes,
});

export const metric = (value: bigint): PodMetric => ({ value, atMs: NOW, windowMs: 15_000 });
