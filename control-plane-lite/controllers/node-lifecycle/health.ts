/** Whether a node is heard of, and what its status says when it is not. Pure.
 *  Source: upstream's node lifecycle controller, release 1.24. */
import type { Node, NodeCondition } from '#api/schema/gen/core-v1.ts';

/** When the last sign of life came, by this server's own clock: those of nodes may be wrong. */
export interface LastSign {
  /** What changes with every sign: time of the lease, and of the heartbeat in the status. */
  readonly sign: string;
  /** Monotonic, in ms. */
  readonly seenMs: number;
}

export interface HealthLimits {
  /** How long a node may be silent, in ms. */
  readonly graceMs: number;
  /** The same for a node that never said how it is. */
  readonly startupGraceMs: number;
}

/** Conditions that nobody but the node itself can tell. */
const TOLD_BY_NODE = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

export const readyCondition = ({ status }: Node): NodeCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Ready');

/** `leaseTime`: when the lease was renewed last, as the lease says it. That the node is unknown is no word of its own. */
export function signOf(node: Node, leaseTime: string | undefined): string {
  const { status = 'Unknown', lastHeartbeatTime = '' } = readyCondition(node) ?? {};
  return [leaseTime ?? '', lastHeartbeatTime, status === 'Unknown' ? '' : status].join(' ');
}

/** A node whose sign is as before has been silent since then. */
export const hear = (before: LastSign | undefined, sign: string, nowMs: number): LastSign =>
  before?.sign === sign ? before : { sign, seenMs: nowMs };

/** Time in ms for which the node may still be silent; 0 or less: it is lost. */
export function silenceLeftMs(node: Node, last: LastSign, nowMs: number, limits: HealthLimits): number {
  const limit = readyCondition(node) === undefined ? limits.startupGraceMs : limits.graceMs;
  return last.seenMs + limit - nowMs;
}

/** The conditions of a node that was lost; those of others stay. `undefined`: they say so already. */
export function lostConditions(node: Node, now: string): readonly NodeCondition[] | undefined {
  const conditions = node.status?.conditions ?? [];
  const known = TOLD_BY_NODE.map((type) => conditions.find((condition) => condition.type === type));
  if (known.every((condition) => condition?.status === 'Unknown')) return undefined;
  const lost = TOLD_BY_NODE.map((type, index) => lostCondition(type, known[index], node, now));
  return [...conditions.filter(({ type }) => !TOLD_BY_NODE.some((told) => told === type)), ...lost];
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
