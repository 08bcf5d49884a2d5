/** Pods of a node without a server that ended because it was short of something, and may come back now that it is not:
 *  there, nobody else makes another one in their place. Pure. */
import { NODE_WAS_LOW } from '#eviction/ranking.ts';
import { EVICTED, NODE_HAD_CONDITION } from '../admission/pressure.ts';
import type { PodEntry } from '../pods/pod-manager.ts';

/** Those that ended for what they did themselves, such as outgrowing a limit, stay as they are; so do those that are to
 *  run once at most. */
export function renewable({
  pod,
  status: { phase, reason, message = '' },
  deletion,
}: Pick<PodEntry, 'pod' | 'status' | 'deletion'>): boolean {
  if (deletion !== undefined || phase !== 'Failed' || reason !== EVICTED) return false;
  if (pod.spec?.restartPolicy === 'Never') return false;
  return message.startsWith(NODE_WAS_LOW) || message.startsWith(NODE_HAD_CONDITION);
}
