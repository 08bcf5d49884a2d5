/** Messages about unschedulable pods. Pure. Source: upstream's messages, release 1.24. */
import type { NodeInfo, Refusal } from './fleet/model.ts';

export const NO_NODES = 'no nodes available to schedule pods';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function formatFailure(total: number, refusals: ReadonlyMap<NodeInfo, Refusal>): string {
  const counts = new Map<string, number>();
  for (const { reasons } of refusals.values()) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const texts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${total} nodes are available: ${texts.join(', ')}.`;
}
