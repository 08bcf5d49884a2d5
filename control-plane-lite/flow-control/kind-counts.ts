/** Numbers of read-only and of mutating requests that execute or wait. */
import type { RequestKind } from './contract.ts';
import type { LevelSeries } from './flow-metrics.ts';

type Ratios = Pick<LevelSeries, 'waiting' | 'executing'>;

class KindCount {
  executing = 0;
  waiting = 0;
  readonly ratios: Ratios;

  constructor(ratios: Ratios) {
    this.ratios = ratios;
  }
}

export interface KindCounts {
  executes(kind: RequestKind, by: 1 | -1, nowMs: number): void;
  waits(kind: RequestKind, by: 1 | -1, nowMs: number): void;
  executing(kind: RequestKind): number;
  waiting(kind: RequestKind): number;
  /** Brings the metrics up to date. */
  measure(nowMs: number): void;
}

export function createKindCounts(ratios: Readonly<Record<RequestKind, Ratios>>): KindCounts {
  const counts = { readOnly: new KindCount(ratios.readOnly), mutating: new KindCount(ratios.mutating) };
  return {
    executes(kind, by, nowMs) {
      const count = counts[kind];
      count.executing += by;
      count.ratios.executing.set(count.executing, nowMs);
    },
    waits(kind, by, nowMs) {
      const count = counts[kind];
      count.waiting += by;
      count.ratios.waiting.set(count.waiting, nowMs);
    },
    executing: (kind) => counts[kind].executing,
    waiting: (kind) => counts[kind].waiting,
    measure(nowMs) {
      for (const { executing, waiting, ratios: measured } of [counts.readOnly, counts.mutating]) {
        measured.executing.set(executing, nowMs);
        measured.waiting.set(waiting, nowMs);
      }
    },
  };
}
