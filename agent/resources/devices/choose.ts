/** Choice of devices for a container. Pure. Source: upstream's device manager (`devicesToAllocate`,
 *  `filterByAffinity`), release 1.24. */
import type { NodeMask } from '../topology/hints.ts';

/** NUMA nodes of a device; empty for one without NUMA information. */
export type NodesOf = (device: string) => readonly number[];

export interface DeviceChoice {
  readonly needed: number;
  /** Devices of init containers of the same pod, which are taken first. */
  readonly reusable: ReadonlySet<string>;
  /** Healthy devices without a reservation. */
  readonly free: ReadonlySet<string>;
  readonly nodesOf: NodesOf;
  /** Selected NUMA nodes; undefined for any. */
  readonly where: NodeMask | undefined;
}

const byName = new Intl.Collator('en', { numeric: true });
const sorted = (devices: Iterable<string>): readonly string[] =>
  [...devices].toSorted((a, b) => byName.compare(a, b) || (a < b ? -1 : 1));

interface Ordered {
  /** On the selected nodes. */
  readonly aligned: readonly string[];
  /** On other nodes, followed by those without NUMA information. */
  readonly others: readonly string[];
}

const has = (mask: NodeMask, node: number): boolean => (mask & (1 << node)) !== 0;

/** Orders devices by node: selected nodes with fewer devices first, so that larger groups stay whole. */
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

/** Returns the required number of devices; undefined when there are not enough. */
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

/** Request to a plugin with preferences (GetPreferredAllocation). */
export interface PreferenceRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

export interface Rechoice {
  readonly reserved: ReadonlySet<string>;
  /** Reserved devices that other containers of the pod have too: they stay. */
  readonly pinned: ReadonlySet<string>;
  readonly free: ReadonlySet<string>;
  readonly nodesOf: NodesOf;
  readonly where: NodeMask | undefined;
}

/** Returns the devices that the plugin may choose from; undefined when there is no choice. */
export function askPreference({
  reserved,
  pinned,
  free,
  nodesOf,
  where,
}: Rechoice): PreferenceRequest | undefined {
  const open = reserved.difference(pinned).union(free);
  const { aligned } = orderByNodes(open, nodesOf, where);
  const missing = reserved.size - pinned.size;
  // Too few aligned devices: all are included and the plugin chooses the rest; otherwise it chooses among
  // them.
  const enough = aligned.length >= missing && aligned.length > 0;
  const mustInclude = sorted(enough ? pinned : pinned.union(new Set(aligned)));
  const available = sorted(new Set([...pinned, ...(enough ? aligned : open)]));
  if (available.length <= reserved.size || mustInclude.length >= reserved.size) return undefined;
  return { available, mustInclude, size: reserved.size };
}

/** Applies the response of the plugin. Devices that were not offered are ignored; missing ones are filled up
 *  from the reserved ones. */
export function takePreference(
  { available, mustInclude, size }: PreferenceRequest,
  reserved: ReadonlySet<string>,
  response: readonly string[],
): readonly string[] {
  const offered = new Set(available);
  const preferred = response.filter((device) => offered.has(device));
  const before = [...reserved].filter((device) => offered.has(device));
  return [...new Set([...mustInclude, ...preferred, ...before])].slice(0, size);
}
