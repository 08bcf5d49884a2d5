/** Admission of pods beside those on the node: rejection, preemption for critical pods, and retry.
 *
 *  A standalone node retries pods that it rejected for lack of capacity: no controller recreates them there, so
 *  they are restarted when capacity becomes available. */
import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Preemption, Refusal } from '../admission/admit.ts';
import type { SourcePod } from '../sources/types.ts';
import type { TerminalPhase } from './decide/decision-types.ts';
import { fullName, type PodEntry } from './slot.ts';

export interface PodAdmissionDeps {
  readonly log: Logger;
  /** Admission of a new pod beside the admitted ones: the rejection, or the pods to preempt; undefined when
   *  admitted. */
  readonly refuse: (source: SourcePod, others: readonly SourcePod[]) => Refusal | Preemption | undefined;
  /** Pods that count against the capacity of the node. */
  readonly occupants: () => readonly PodEntry[];
  /** Terminates a pod. */
  readonly finish: (podUID: string, end: TerminalPhase) => Promise<void>;
  /** Called for a pod that is rejected or preempted. */
  readonly warned?: (pod: Pod, reason: string, message: string) => void;
  /** Called for each pod that is preempted for that resource. */
  readonly preempted?: (resource: string) => void;
}

export interface CapacityRetryDeps {
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

/** Event reason and message of upstream. */
const PREEMPTED = { reason: 'Preempting', message: 'Preempted in order to admit critical pod' };

/** Admits a new pod, preempting others for a critical one. Returns the terminal phase of a rejected pod, which must
 *  not start; undefined when admitted. */
export function admitPod(deps: PodAdmissionDeps, source: SourcePod): TerminalPhase | undefined {
  const verdict = deps.refuse(source, deps.occupants());
  if (verdict === undefined) return undefined;
  if (!('victims' in verdict)) {
    deps.warned?.(source.pod, verdict.reason, verdict.message);
    return { phase: 'Failed', ...verdict };
  }
  for (const victim of verdict.victims) {
    preempt(deps, victim, source.pod);
    deps.preempted?.(verdict.resource);
  }
  return undefined;
}

function preempt({ log, warned, finish }: PodAdmissionDeps, victim: Pod, critical: Pod): void {
  const podUID = victim.metadata?.uid ?? '';
  log.info({ podUID, for: fullName(critical) }, 'Pod preempted for a critical pod');
  warned?.(victim, PREEMPTED.reason, PREEMPTED.message);
  finish(podUID, { phase: 'Failed', ...PREEMPTED }).catch((thrown: unknown) => {
    log.warn({ err: asError(thrown), podUID }, 'Failed to write pod record');
  });
}

export const isCapacityRejection = (reason: string): boolean => reason.startsWith(OUT_OF);

const wasRejected = ({ status: { phase, reason = '' } }: PodEntry): boolean =>
  phase === 'Failed' && isCapacityRejection(reason);

const uidOf = ({ pod }: PodEntry): string => pod.metadata?.uid ?? '';

export function createCapacityRetry({
  entries,
  occupants,
  refuse,
  restart,
}: CapacityRetryDeps): CapacityRetry {
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
