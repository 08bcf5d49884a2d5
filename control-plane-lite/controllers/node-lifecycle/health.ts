/** Health of a node by its heartbeats, and its conditions when they stop. Pure. Source: upstream's node
 *  lifecycle controller, release 1.24. */

import type { Node, NodeCondition } from '#api/gen/core-v1.ts';
import type { NodeHealthLimits } from '../skeleton/settings.ts';

/** Time of the last heartbeat by this server's own clock: clocks of nodes may be wrong. */
export interface LastSign {
  /** Changes with every heartbeat: the renew time of the lease, and the heartbeat times in the status. */
  readonly sign: string;
  /** Monotonic, in ms. */
  readonly seenMs: number;
}

/** Conditions that only the node itself can report. */
const NODE_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

export const readyCondition = ({ status }: Node): NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

/** `leaseTime`: renew time of the lease. A Ready condition that this controller set to Unknown is not a
 *  heartbeat. */
export function signOf(node: Node, leaseTime: string | undefined): string {
  const { status = 'Unknown', lastHeartbeatTime = '' } = readyCondition(node) ?? {};
  return [leaseTime ?? '', lastHeartbeatTime, status === 'Unknown' ? '' : status].join(' ');
}

/** A node with an unchanged heartbeat has been silent since the last observation. */
export const observeSign = (before: LastSign | undefined, sign: string, nowMs: number): LastSign =>
  before?.sign === sign ? before : { sign, seenMs: nowMs };

/** Remaining grace period in ms; 0 or less: the node is unreachable. */
export function silenceLeftMs(node: Node, last: LastSign, nowMs: number, limits: NodeHealthLimits): number {
  const limit = readyCondition(node) === undefined ? limits.startupGraceMs : limits.graceMs;
  return last.seenMs + limit - nowMs;
}

/** The conditions of an unreachable node; conditions of other components stay. `undefined`: unchanged. */
export function lostConditions(node: Node, now: string): readonly NodeCondition[] | undefined {
  const conditions = node.status?.conditions ?? [];
  const known = NODE_CONDITIONS.map((type) => conditions.find((condition) => condition.type === type));
  if (known.every((condition) => condition?.status === 'Unknown')) return undefined;
  const lost = NODE_CONDITIONS.map((type, index) => lostCondition(type, known[index], node, now));
  return [...conditions.filter(({ type }) => !NODE_CONDITIONS.some((own) => own === type)), ...lost];
}

function lostCondition(
  type: string,
  known: NodeCondition | undefined,
  node: Node,
  now: string,
): NodeCondition {
  if (known?.status === 'Unknown') return known;
  if (known === undefined) {
    return {
      type,
      status: 'Unknown',
      reason: 'NodeStatusNeverUpdated',
      message: 'The node agent never posted node status.',
      lastHeartbeatTime: node.metadata?.creationTimestamp ?? now,
      lastTransitionTime: now,
    };
  }
  return {
    ...known,
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'The node agent stopped posting node status.',
    lastTransitionTime: now,
  };
}
