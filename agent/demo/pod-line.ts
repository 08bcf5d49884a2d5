/** One pod in the words of a table's row. Pure. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { formatSince } from '../cli/duration.ts';
import { summarizePod } from '../cli/pod-status.ts';

export interface PodLine {
  readonly name: string;
  /** `1/2` */
  readonly ready: string;
  readonly status: string;
  readonly restarts: number;
  readonly age: string;
  readonly ip: string;
  /** Whether the pod is where its manifest wants it: running with all containers ready, or finished. */
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
