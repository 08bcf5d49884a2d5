/** Conditions of the node, and the events of their changes. Pure. Source: upstream's node status setters,
 *  1.24. */

import type { NodeCondition } from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import type { NodeNames } from './node-names.ts';

export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface Health {
  /** Reasons why the node is not ready; ready when empty. */
  readonly troubles: readonly string[];
  /** Appended to the message of a ready node: `AppArmor enabled`. */
  readonly remark?: string;
  readonly pressure: Pressure;
}

/** Reason of the event of a condition change. */
export type ConditionEvent =
  | 'NodeReady'
  | 'NodeNotReady'
  | `NodeHas${'Sufficient' | 'Insufficient'}${'Memory' | 'PID'}`
  | `NodeHas${'' | 'No'}DiskPressure`;

interface Wanted {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly event: ConditionEvent;
  /** Whether the first appearance emits an event, too. */
  readonly emitsFirst: boolean;
}

function scarcity(
  type: string,
  pressed: boolean,
  { event, message }: { readonly event: ConditionEvent; readonly message: string },
  names: NodeNames,
): Wanted {
  const reason = names.reasonPrefix + event.slice('Node'.length);
  const status = pressed ? 'True' : 'False';
  return { type, status, reason, message: `${names.agent} ${message}`, event, emitsFirst: true };
}

function pressures({ memory, disk, pid }: Pressure, names: NodeNames): readonly Wanted[] {
  const supply = (name: 'Memory' | 'PID', what: string, short: boolean) => ({
    event: `NodeHas${short ? 'Insufficient' : 'Sufficient'}${name}` as const,
    message: `has ${short ? 'insufficient' : 'sufficient'} ${what} available`,
  });
  const diskMessage = {
    event: disk ? 'NodeHasDiskPressure' : 'NodeHasNoDiskPressure',
    message: disk ? 'has disk pressure' : 'has no disk pressure',
  } as const;
  return [
    scarcity('MemoryPressure', memory, supply('Memory', 'memory', memory), names),
    scarcity('DiskPressure', disk, diskMessage, names),
    scarcity('PIDPressure', pid, supply('PID', 'PID', pid), names),
  ];
}

const joined = (troubles: readonly string[]): string =>
  troubles.length === 1 ? (troubles[0] ?? '') : `[${troubles.join(', ')}]`;

function readiness({ troubles, remark }: Health, names: NodeNames): Wanted {
  const about = { type: 'Ready', emitsFirst: false } as const;
  if (troubles.length > 0) {
    const reason = `${names.reasonPrefix}NotReady`;
    return { ...about, status: 'False', reason, message: joined(troubles), event: 'NodeNotReady' };
  }
  const message = `${names.agent} is posting ready status${remark === undefined ? '' : `. ${remark}`}`;
  return { ...about, status: 'True', reason: `${names.reasonPrefix}Ready`, message, event: 'NodeReady' };
}

export interface ConditionDecision {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly ConditionEvent[];
}

/** Returns the conditions with fresh heartbeats. Conditions of others stay unchanged, in their place. */
export function decideConditions(
  before: readonly NodeCondition[],
  health: Health,
  names: NodeNames,
  nowMs: number,
): ConditionDecision {
  const now = formatTime(nowMs);
  const conditions = [...before];
  const events: ConditionEvent[] = [];
  for (const wanted of [...pressures(health.pressure, names), readiness(health, names)]) {
    const { type, status, reason, message } = wanted;
    const index = conditions.findIndex((condition) => condition.type === type);
    const old = conditions[index];
    const changed = old?.status !== status;
    const lastTransitionTime = changed ? now : (old.lastTransitionTime ?? now);
    const next = { type, status, lastHeartbeatTime: now, lastTransitionTime, reason, message };
    if (index < 0) conditions.push(next);
    else conditions[index] = next;
    if (changed && (old !== undefined || wanted.emitsFirst)) events.push(wanted.event);
  }
  return { conditions, events };
}
