/** Pull failures per pod and image: time of the next attempt, and the last error. */
import { createBackoff } from '#api/kit/backoff.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { ImageWaitingReason } from './pull-policy.ts';
import type { ImageWaiting } from './types.ts';

export interface PullFailure {
  readonly reason: ImageWaitingReason;
  readonly message: string;
}

export interface PullHistory {
  /** Records a failure; returns the wall time (ms) of the next attempt. */
  fail(podUID: string, image: string, failure: PullFailure): number;
  /** Returns the status to report during the backoff; undefined when an attempt is due. */
  waiting(podUID: string, image: string): ImageWaiting | undefined;
  succeed(podUID: string, image: string): void;
  forget(podUID: string): void;
}

/** As upstream: 10 s after the first failure, doubling to 5 min, per pod and image. */
const BACKOFF = { initialMs: 10_000, maxMs: 300_000 } as const;

export function createPullHistory(clock: Clock): PullHistory {
  const backoff = createBackoff(BACKOFF);
  const failures = new Map<string, Map<string, PullFailure>>();
  const keyOf = (podUID: string, image: string): string => `${podUID}_${image}`;
  return {
    fail(podUID, image, failure) {
      const ofPod = failures.get(podUID) ?? new Map<string, PullFailure>();
      failures.set(podUID, ofPod.set(image, failure));
      return clock.now() + backoff.fail(keyOf(podUID, image), clock.now());
    },
    waiting(podUID, image) {
      const retryAtMs = backoff.readyAt(keyOf(podUID, image), clock.now());
      if (clock.now() >= retryAtMs) return undefined;
      const last = failures.get(podUID)?.get(image);
      const detail = last === undefined ? '' : `: ${last.reason}: ${last.message}`;
      const message = `Back-off pulling image "${image}"${detail}`;
      return { kind: 'waiting', reason: 'ImagePullBackOff', message, retryAtMs };
    },
    succeed(podUID, image) {
      backoff.reset(keyOf(podUID, image));
      failures.get(podUID)?.delete(image);
    },
    forget(podUID) {
      for (const image of failures.get(podUID)?.keys() ?? []) backoff.reset(keyOf(podUID, image));
      failures.delete(podUID);
    },
  };
}
