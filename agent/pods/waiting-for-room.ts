/** Pods of a node without a server for which there was no room, and which come when there is: there, nobody else makes
 *  another one in their place. */
import type { Preemption, Refusal } from '../admission/admit.ts';
import type { SourcePod } from '../sources/types.ts';
import type { PodEntry } from './pod-manager.ts';

export interface WaitingDeps {
  readonly entries: () => readonly PodEntry[];
  /** Why there is no room; a pod for which others would have to go waits, too. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  readonly renew: (podUID: string) => void;
}

export interface WaitingForRoom {
  /** Finds those that an earlier agent refused. */
  readonly begin: () => void;
  /** The pod was refused for want of room. */
  readonly note: (podUID: string) => void;
  /** Pods have changed: one that waits may come. One at a time, so that the next one is weighed beside it. */
  readonly look: () => void;
}

/** How reasons begin of pods for which there was no room. */
const OUT_OF = 'OutOf';

export const isForWantOfRoom = (reason: string): boolean => reason.startsWith(OUT_OF);

const wasRefused = ({ status: { phase, reason = '' } }: PodEntry): boolean =>
  phase === 'Failed' && isForWantOfRoom(reason);

const uidOf = ({ pod }: PodEntry): string => pod.metadata?.uid ?? '';

export function createWaitingForRoom({ entries, refuse, renew }: WaitingDeps): WaitingForRoom {
  // Known by name, as most nodes have none, and looking at all pods takes time.
  const waiting = new Set<string>();

  function look(): void {
    if (waiting.size === 0) return;
    const all = entries();
    const refused = all.filter((entry) => waiting.has(uidOf(entry)) && wasRefused(entry));
    waiting.clear();
    for (const entry of refused) waiting.add(uidOf(entry));
    // The one before has not come yet.
    if (refused.some(({ deletion }) => deletion !== undefined)) return;
    const others = all.filter(({ end }) => end === undefined);
    const next = refused.find((entry) => refuse(entry, others) === undefined);
    if (next !== undefined) renew(uidOf(next));
  }

  return {
    begin() {
      for (const entry of entries().filter(wasRefused)) waiting.add(uidOf(entry));
      look();
    },
    note: (podUID) => void waiting.add(podUID),
    look,
  };
}
