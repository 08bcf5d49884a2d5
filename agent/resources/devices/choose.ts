/** Which devices a container gets. Pure. Source: upstream's device manager (`devicesToAllocate`, `filterByAffinity`),
 *  release 1.24. */
import type { NodeMask } from '../topology/hints.ts';

/** Memory nodes of a device; none for one that says nothing. */
export type NodesOf = (device: string) => readonly number[];

export interface DeviceChoice {
  readonly needed: number;
  /** Devices of init containers of the same pod, which come first. */
  readonly reusable: ReadonlySet<string>;
  /** Healthy ones that nobody has. */
  readonly free: ReadonlySet<string>;
  readonly nodesOf: NodesOf;
  /** Where the container was found to go; undefined: anywhere. */
  readonly where: NodeMask | undefined;
}

const byName = new Intl.Collator('en', { numeric: true });
const sorted = (devices: Iterable<string>): readonly string[] =>
  [...devices].toSorted((a, b) => byName.compare(a, b) || (a < b ? -1 : 1));

interface Ordered {
  /** On the nodes that are wanted. */
  readonly aligned: readonly string[];
  /** On others, and then those that say nothing of theirs. */
  readonly others: readonly string[];
}

const has = (mask: NodeMask, node: number): boolean => (mask & (1 << node)) !== 0;

/** Wanted nodes with fewer devices go first, so that larger groups stay whole. */
export function orderByNodes(
  devices: ReadonlySet<string>,
  nodesOf: NodesOf,
  where: NodeMask | undefined,
): Ordered {
  const all = sorted(devices);
  if (where === undefined || all.every((device) => nodesOf(device).length === 0)) {
    return { aligned: [], others: all };
  }
  const counts = new Map<number, number>();
  for (const device of all) {
    for (const node of nodesOf(device)) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  const nodes = [...counts.keys()].toSorted(
    (a, b) =>
      Number(has(where, b)) - Number(has(where, a)) || (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || a - b,
  );
  const wanted = nodes.filter((node) => has(where, node));
  const onNodes = (of: readonly number[]): readonly string[] =>
    of.flatMap((node) => all.filter((device) => nodesOf(device).includes(node)));
  const aligned = new Set(onNodes(wanted));
  const unaligned = onNodes(nodes.filter((node) => !has(where, node)));
  const without = all.filter((device) => nodesOf(device).length === 0);
  const others = new Set([...unaligned, ...without].filter((device) => !aligned.has(device)));
  return { aligned: [...aligned], others: [...others] };
}

/** As many devices as are needed; undefined when there are not enough. */
export function chooseDevices({
  needed,
  reusable,
  free,
  nodesOf,
  where,
}: DeviceChoice): readonly string[] | undefined {
  const reused = sorted(reusable).slice(0, needed);
  const { aligned, others } = orderByNodes(free.difference(new Set(reused)), nodesOf, where);
  const chosen = [...reused, ...aligned, ...others].slice(0, needed);
  return chosen.length === needed ? chosen : undefined;
}

/** What a plugin is asked that has preferences. */
export interface PreferenceQuestion {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

export interface Rechoice {
  readonly booked: ReadonlySet<string>;
  /** Those of the booked that other containers of the pod have too: they stay. */
  readonly pinned: ReadonlySet<string>;
  readonly free: ReadonlySet<string>;
  readonly nodesOf: NodesOf;
  readonly where: NodeMask | undefined;
}

/** What the plugin may choose from; undefined when there is no choice. */
export function askPreference({
  booked,
  pinned,
  free,
  nodesOf,
  where,
}: Rechoice): PreferenceQuestion | undefined {
  const open = booked.difference(pinned).union(free);
  const { aligned } = orderByNodes(open, nodesOf, where);
  const missing = booked.size - pinned.size;
  // All that are on the nodes are taken, and the plugin chooses the rest; or it chooses among them.
  const enough = aligned.length >= missing && aligned.length > 0;
  const mustInclude = sorted(enough ? pinned : pinned.union(new Set(aligned)));
  const available = sorted(new Set([...pinned, ...(enough ? aligned : open)]));
  if (available.length <= booked.size || mustInclude.length >= booked.size) return undefined;
  return { available, mustInclude, size: booked.size };
}

/** The devices after the plugin's answer. What it names beside what it was offered does not count, and what it does
 *  not name is filled up with what was booked. */
export function takePreference(
  { available, mustInclude, size }: PreferenceQuestion,
  booked: ReadonlySet<string>,
  answer: readonly string[],
): readonly string[] {
  const offered = new Set(available);
  const preferred = answer.filter((device) => offered.has(device));
  const before = [...booked].filter((device) => offered.has(device));
  return [...new Set([...mustInclude, ...preferred, ...before])].slice(0, size);
}
