/** Refreshes the content of the volumes of a pod and logs each failure once per pod and reason: while a
 *  namespace is deleted, the objects of a pod disappear before it does, and each change of it triggers
 *  another attempt. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface VolumeRefresh {
  /** Never rejects. Skips pods that are being deleted. */
  readonly refresh: (pod: Pod) => Promise<void>;
  /** Releases the state of a removed pod. */
  readonly forget: (podUID: string) => void;
}

export interface VolumeRefreshDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly refreshPod: (pod: Pod) => Promise<void>;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
}

/** A failure that is still there after this time, in ms, is logged as a warning. */
const LASTING_MS = 5000;

interface Failure {
  readonly reason: string;
  /** Monotonic time in ms of the first failure. */
  readonly sinceMs: number;
  readonly warned: boolean;
}

export function createVolumeRefresh({ clock, refreshPod, log }: VolumeRefreshDeps): VolumeRefresh {
  /** Last failed refresh, by pod UID. */
  const failing = new Map<string, Failure>();

  function recordFailure(uid: string, fields: object, err: Error): void {
    const reason = describeError(err);
    const known = failing.get(uid);
    const nowMs = clock.monotonic();
    const before = known?.reason === reason ? known : { reason, sinceMs: nowMs, warned: false };
    const isLasting = !before.warned && nowMs - before.sinceMs >= LASTING_MS;
    failing.set(uid, { ...before, warned: before.warned || isLasting });
    if (isLasting) log.warn({ ...fields, err }, 'Failed to refresh volumes');
    else log.debug({ ...fields, err }, 'Failed to refresh volumes');
  }

  return {
    async refresh(pod) {
      const { uid = '', name, namespace, deletionTimestamp } = pod.metadata ?? {};
      if (deletionTimestamp !== undefined) return;
      const fields = { pod: `${namespace}/${name}` };
      try {
        await refreshPod(pod);
        if (failing.get(uid)?.warned === true) log.info(fields, 'Volume refresh recovered');
        failing.delete(uid);
      } catch (thrown) {
        recordFailure(uid, fields, asError(thrown));
      }
    },
    forget: (podUID) => void failing.delete(podUID),
  };
}
