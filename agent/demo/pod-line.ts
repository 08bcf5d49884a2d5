/** Formats one pod as a table row. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import { formatSince } from '../cli/args/duration.ts';
import { summarizePod } from '../cli/views/pod-status.ts';

export interface PodLine {
  readonly name: string;
  /** `1/2` */
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly age: string;
  readonly ip: string;
  /** Whether the pod has reached its goal: running with all containers ready, or finished. */
  readonly settled: boolean;
}

export function describePod(pod: Pod, nowMs: number): PodLine {
  const { status, ready, total, restarts } = summarizePod(pod);
  const phase = pod.status?.phase;
  const started = pod.status?.startTime;
  return {
    name: `${pod.metadata?.namespace ?? 'default'}/${pod.metadata?.name ?? ''}`,
    ready: `${ready}/${total}`,
    status,
    restarts,
    age: started === undefined ? '' : formatSince(started, nowMs),
    ip: pod.status?.podIP ?? '',
    settled:
      phase === 'Succeeded' || phase === 'Failed' || (phase === 'Running' && total > 0 && ready === total),
  };
}
