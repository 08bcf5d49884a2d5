/** Renews the content of a pod's volumes, and logs why it could not, once for each pod and reason: what a pod uses goes
 *  before the pod does while a namespace is deleted, and is looked for at each change of it. */
import { asError } from '#api/kit/clock.ts';
import { describeError } from '#api/kit/error-chain.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

export interface VolumeRefresh {
  /** Never rejects. Leaves pods alone that are being deleted. */
  readonly refresh: (pod: Pod) => Promise<void>;
  /** Forgets a pod that is gone. */
  readonly forget: (podUID: string) => void;
}

export interface VolumeRefreshDeps {
  readonly refreshPod: (pod: Pod) => Promise<void>;
  readonly log: Pick<Logger, 'warn' | 'info' | 'debug'>;
}

export function createVolumeRefresh({ refreshPod, log }: VolumeRefreshDeps): VolumeRefresh {
  /** Why the last refresh of a pod failed, by UID. */
  const failing = new Map<string, string>();
  return {
    async refresh(pod) {
      const { uid = '', name, namespace, deletionTimestamp } = pod.metadata ?? {};
      if (deletionTimestamp !== undefined) return;
      const fields = { pod: `${namespace}/${name}` };
      try {
        await refreshPod(pod);
        if (failing.delete(uid)) log.info(fields, 'Volumes refreshed again');
      } catch (thrown) {
        const err = asError(thrown);
        const reason = describeError(err);
        const isKnown = failing.get(uid) === reason;
        failing.set(uid, reason);
        if (isKnown) log.debug({ ...fields, err }, 'Failed to refresh volumes');
        else log.warn({ ...fields, err }, 'Failed to refresh volumes');
      }
    },
    forget: (podUID) => void failing.delete(podUID),
  };
}
