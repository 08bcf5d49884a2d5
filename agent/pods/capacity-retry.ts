/** Retries pods of a standalone node that were rejected for lack of capacity: no controller recreates them
 *  there, so they are restarted when capacity becomes available. */
import type { Preemption, Refusal } from '../admission/admit.ts';
import type { SourcePod } from '../sources/types.ts';
import type { PodEntry } from './pod-manager.ts';

export interface WaitingDeps {
  readonly entries: () => readonly PodEntry[];
  /** Those that count against the capacity of the node. */
  readonly occupants: () => readonly PodEntry[];
  /** Admission of the node; a pod that would need to preempt others stays rejected, too. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  readonly restart: (podUID: string) => void;
}

export interface CapacityRetry {
  /** Finds the rejected pods of an earlier run. */
  readonly begin: () => void;
  /** Registers a pod that was rejected for lack of capacity. */
  readonly note: (podUID: string) => void;
  /** Called after pods have changed: restarts one pod that fits. One at a time, so that the next check
   *  includes it. */
  readonly look: () => void;
}

/** Prefix of the reasons of pods that were rejected for lack of capacity. */
const OUT_OF = 'OutOf';

export const isCapacityRejection = (reason: string): boolean => reason.startsWith(OUT_OF);

const wasRejected = ({ status: { phase, reason = '' } }: PodEntry): boolean =>
  phase === 'Failed' && isCapacityRejection(reason);

const uidOf = ({ pod }: PodEntry): string => pod.metadata?.uid ?? '';

export function createCapacityRetry({ entries, occupants, refuse, restart }: WaitingDeps): CapacityRetry {
  // A set of UIDs: most nodes have none, and a scan of all pods is expensive.
  const waiting = new Set<string>();

  function look(): void {
    if (waiting.size === 0) return;
    const rejected = entries().filter((entry) => waiting.has(uidOf(entry)) && wasRejected(entry));
    waiting.clear();
    for (const entry of rejected) waiting.add(uidOf(entry));
    // The previous one is still being restarted.
    if (rejected.some(({ deletion }) => deletion !== undefined)) return;
    const others = occupants();
    const next = rejected.find((entry) => refuse(entry, others) === undefined);
    if (next !== undefined) restart(uidOf(next));
  }

  return {
    begin() {
      for (const entry of entries().filter(wasRejected)) waiting.add(uidOf(entry));
      look();
    },
    note: (podUID) => void waiting.add(podUID),
    look,
  };
}
