/** Recorder of all pod states that a watch of an API server shows; checks each against the rules of
 *  `pod-status-rules.ts`. */
import type { Pod } from '#api/gen/core-v1.ts';
import { removalErrors, stateErrors, stepErrors } from './pod-status-rules.ts';

export interface PodRecorder {
  /** Records one event of a watch. */
  see(type: string, pod: Pod): void;
  /** Returns broken rules so far, each with its pod. */
  errors(): readonly string[];
  /** Returns the number of checked states. */
  count(): number;
}

interface Seen {
  readonly pod: Pod;
  /** Its deletion was requested, and its node had time to terminate it. */
  readonly mayEnd: boolean;
}

export function createPodRecorder(): PodRecorder {
  const seen = new Map<string, Seen>();
  const found: string[] = [];
  let states = 0;

  function note(pod: Pod, errors: readonly string[]): void {
    for (const error of errors) found.push(`${pod.metadata?.namespace}/${pod.metadata?.name}: ${error}`);
  }

  return {
    see(type, pod) {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata ?? {};
      const before = seen.get(uid);
      // A pod without a node, or deleted by force, is removed as it is.
      const isEnding = deletionTimestamp !== undefined && deletionGracePeriodSeconds > 0;
      const mayEnd = before?.mayEnd === true || (isEnding && pod.status?.startTime !== undefined);
      states += 1;
      note(pod, stateErrors(pod));
      if (before !== undefined) note(pod, stepErrors(before.pod, pod));
      if (type !== 'DELETED') {
        seen.set(uid, { pod, mayEnd });
        return;
      }
      if (mayEnd) note(pod, removalErrors(pod));
      seen.delete(uid);
    },
    errors: () => found,
    count: () => states,
  };
}
