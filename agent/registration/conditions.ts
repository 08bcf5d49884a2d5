/** The node's conditions and what is told when one changes. Pure. Source: upstream's node status setters, 1.24. */
import { formatTime } from '#api/meta/time.ts';
import type { NodeCondition } from '#api/schema/gen/core-v1.ts';
import type { NodeWords } from './words.ts';

export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface Health {
  /** Why the node takes no pods; ready when empty. */
  readonly troubles: readonly string[];
  /** Added to the message of a ready node: `AppArmor enabled`. */
  readonly remark?: string;
  readonly pressure: Pressure;
}

/** Reason of an event on the node whose condition changed. */
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
  /** Whether its first appearance is told too. */
  readonly tellsFirst: boolean;
}

function scarcity(
  type: string,
  pressed: boolean,
  { event, message }: { readonly event: ConditionEvent; readonly message: string },
  words: NodeWords,
): Wanted {
  const reason = words.reasonPrefix + event.slice('Node'.length);
  const status = pressed ? 'True' : 'False';
  return { type, status, reason, message: `${words.agent} ${message}`, event, tellsFirst: true };
}

function pressures({ memory, disk, pid }: Pressure, words: NodeWords): readonly Wanted[] {
  const supply = (name: 'Memory' | 'PID', what: string, short: boolean) => ({
    event: `NodeHas${short ? 'Insufficient' : 'Sufficient'}${name}` as const,
    message: `has ${short ? 'insufficient' : 'sufficient'} ${what} available`,
  });
  const diskWords = {
    event: disk ? 'NodeHasDiskPressure' : 'NodeHasNoDiskPressure',
    message: disk ? 'has disk pressure' : 'has no disk pressure',
  } as const;
  return [
    scarcity('MemoryPressure', memory, supply('Memory', 'memory', memory), words),
    scarcity('DiskPressure', disk, diskWords, words),
    scarcity('PIDPressure', pid, supply('PID', 'PID', pid), words),
  ];
}

const joined = (troubles: readonly string[]): string =>
  troubles.length === 1 ? (troubles[0] ?? '') : `[${troubles.join(', ')}]`;

function readiness({ troubles, remark }: Health, words: NodeWords): Wanted {
  const about = { type: 'Ready', tellsFirst: false } as const;
  if (troubles.length > 0) {
    const reason = `${words.reasonPrefix}NotReady`;
    return { ...about, status: 'False', reason, message: joined(troubles), event: 'NodeNotReady' };
  }
  const message = `${words.agent} is posting ready status${remark === undefined ? '' : `. ${remark}`}`;
  return { ...about, status: 'True', reason: `${words.reasonPrefix}Ready`, message, event: 'NodeReady' };
}

export interface ConditionDecision {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly ConditionEvent[];
}

/** The node's conditions with fresh heartbeats. Conditions of others stay as they are, where they are. */
export function decideConditions(
  before: readonly NodeCondition[],
  health: Health,
  words: NodeWords,
  nowMs: number,
): ConditionDecision {
  const now = formatTime(nowMs);
  const conditions = [...before];
  const events: ConditionEvent[] = [];
  for (const wanted of [...pressures(health.pressure, words), readiness(health, words)]) {
    const { type, status, reason, message } = wanted;
    const index = conditions.findIndex((condition) => condition.type === type);
    const old = conditions[index];
    const changed = old?.status !== status;
    const lastTransitionTime = changed ? now : (old.lastTransitionTime ?? now);
    const next = { type, status, lastHeartbeatTime: now, lastTransitionTime, reason, message };
    if (index < 0) conditions.push(next);
    else conditions[index] = next;
    if (changed && (old !== undefined || wanted.tellsFirst)) events.push(wanted.event);
  }
  return { conditions, events };
}
