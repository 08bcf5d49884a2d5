/** The taints that follow from a node's conditions. Pure.
 *  Source: upstream's node lifecycle controller, release 1.24. */
import type { Node, Taint } from '#api/gen/core-v1.ts';
import { readyCondition } from './health.ts';

/** Condition and status, and the end of the taint's key. */
const CONDITION_TAINTS: readonly (readonly [type: string, status: string, key: string])[] = [
  ['Ready', 'False', 'not-ready'],
  ['Ready', 'Unknown', 'unreachable'],
  ['MemoryPressure', 'True', 'memory-pressure'],
  ['DiskPressure', 'True', 'disk-pressure'],
  ['PIDPressure', 'True', 'pid-pressure'],
  ['NetworkUnavailable', 'True', 'network-unavailable'],
];
const UNSCHEDULABLE = 'unschedulable';
const EVICTING = ['not-ready', 'unreachable'];

/** Desired taints of a node among those that this controller manages. */
interface Wanted {
  readonly noSchedule: ReadonlySet<string>;
  /** At most one of the two; `undefined`: its pods may stay. */
  readonly noExecute: string | undefined;
}

function wantedKeys(node: Node): Wanted {
  const conditions = node.status?.conditions ?? [];
  const keys = CONDITION_TAINTS.filter(([type, status]) =>
    conditions.some((condition) => condition.type === type && condition.status === status),
  ).map(([, , key]) => key);
  const noExecute = keys.find((key) => EVICTING.includes(key));
  // A node without the condition is in an unknown state.
  if (readyCondition(node) === undefined) keys.push('not-ready');
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE);
  return { noSchedule: new Set(keys), noExecute };
}

/** Reports whether the node's conditions require the eviction of its pods. */
export const isInTrouble = (node: Node): boolean => wantedKeys(node).noExecute !== undefined;

export interface TaintRules {
  /** Prefix of the keys: `node.` and the domain. */
  readonly prefix: string;
  /** Whether pods of unhealthy nodes may be evicted at all. */
  readonly mayEvict: boolean;
  /** RFC 3339. */
  readonly now: string;
}

/** The node's desired taints; `undefined`: unchanged. Taints of other owners stay, and a taint that stays
 *  retains its time. */
export function decideTaints(
  node: Node,
  { prefix, mayEvict, now }: TaintRules,
): readonly Taint[] | undefined {
  const before = node.spec?.taints ?? [];
  const { noSchedule, noExecute } = wantedKeys(node);
  const keyOf = (name: string): string => `${prefix}/${name}`;
  const managed: readonly (Taint & { readonly wanted: boolean })[] = [
    ...[...CONDITION_TAINTS.map(([, , key]) => key), UNSCHEDULABLE].map((key) => ({
      key: keyOf(key),
      effect: 'NoSchedule' as const,
      wanted: noSchedule.has(key),
    })),
    ...EVICTING.map((key) => ({
      key: keyOf(key),
      effect: 'NoExecute' as const,
      wanted: key === noExecute && mayEvict,
    })),
  ];
  const kept = before.filter((taint) => managed.find((one) => isSame(one, taint))?.wanted !== false);
  const added = managed
    .filter(({ wanted }) => wanted)
    .filter((one) => !kept.some((taint) => isSame(one, taint)))
    .map(({ key, effect }) => (effect === 'NoExecute' ? { key, effect, timeAdded: now } : { key, effect }));
  if (added.length === 0 && kept.length === before.length) return undefined;
  return [...kept, ...added];
}

const isSame = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
