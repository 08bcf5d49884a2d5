/** Selection of evicted pods of a standalone node that may restart once the pressure is over: no controller
 *  recreates them there. Pure. */
import { NODE_WAS_LOW } from '#eviction/ranking.ts';
import { EVICTED, NODE_HAD_CONDITION } from '../admission/pressure.ts';
import type { PodEntry } from '../pods/slot.ts';

/** Reports whether an evicted pod may restart: not one that exceeded its own limits, or must run at most
 *  once. */
export function renewable({
  pod,
  status: { phase, reason, message = '' },
  deletion,
}: Pick<PodEntry, 'pod' | 'status' | 'deletion'>): boolean {
  if (deletion !== undefined || phase !== 'Failed' || reason !== EVICTED) return false;
  if (pod.spec?.restartPolicy === 'Never') return false;
  return message.startsWith(NODE_WAS_LOW) || message.startsWith(NODE_HAD_CONDITION);
}
