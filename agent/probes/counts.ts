/** Counts of the probe results of a pod. */
import type { Pod } from '#api/gen/core-v1.ts';
import type { ProbeKind, ProbeOutcome } from './probe-state.ts';

export type ProbeCountResult = 'successful' | 'failed' | 'unknown';

export interface ProbeCount {
  readonly pod: Pod;
  readonly container: string;
  readonly kind: ProbeKind;
  readonly result: ProbeCountResult;
  readonly count: number;
}

const RESULTS: Readonly<Record<ProbeOutcome, ProbeCountResult>> = {
  success: 'successful',
  warning: 'successful',
  failure: 'failed',
  unknown: 'unknown',
};

export interface ProbeCounts {
  add(pod: Pod, container: string, kind: ProbeKind, outcome: ProbeOutcome): void;
  readonly list: () => readonly ProbeCount[];
}

export function createProbeCounts(): ProbeCounts {
  const counts = new Map<string, ProbeCount>();
  return {
    add(pod, container, kind, outcome) {
      const result = RESULTS[outcome];
      const key = `${container}/${kind}/${result}`;
      const count = (counts.get(key)?.count ?? 0) + 1;
      counts.set(key, { pod, container, kind, result, count });
    },
    list: () => [...counts.values()],
  };
}
