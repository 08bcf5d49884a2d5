/** The taints that follow from a node's conditions. Pure.
 *  Source: upstream's node lifecycle controller, release 1.24. */
import type { Node, Taint } from '#api/schema/gen/core-v1.ts';
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

/** Which taints a node is to have of those that this controller looks after. */
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
  // Nothing is known yet of a node without the condition.
  if (readyCondition(node) === undefined) keys.push('not-ready');
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE);
  return { noSchedule: new Set(keys), noExecute };
}

/** Whether the node's conditions are such that its pods should leave. */
export const isInTrouble = (node: Node): boolean => wantedKeys(node).noExecute !== undefined;

export interface TaintRules {
  /** What the keys begin with: `node.` and the domain. */
  readonly prefix: string;
  /** Whether the pods of nodes in trouble may be sent away at all. */
  readonly mayEvict: boolean;
  /** RFC 3339. */
  readonly now: string;
}

/** The node's taints as they should be; `undefined`: as they are. Those of others are left alone, and so is the time
 *  of a taint that stays. */
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
