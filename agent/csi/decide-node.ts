/** What the server is told of the CSI drivers of a node. Pure. Source: upstream's `nodeinfomanager`, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import { migratedPlugins, migratedPluginsAnnotation } from '#api/meta/csi-migration.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { CSINode, CSINodeDriver } from '#api/schema/gen/storage-v1.ts';
import type { Driver } from '#volumes/csi/contract.ts';

type Told = Pick<Driver, 'name' | 'nodeID' | 'topology' | 'maxVolumes'>;

export interface CsiNodeRules {
  /** Of the vocabulary. */
  readonly domain: string;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  /** Whether what has not registered is gone, and not just late. */
  readonly settled: boolean;
}

export function driverEntry({ name, nodeID, topology, maxVolumes }: Told): CSINodeDriver {
  const topologyKeys = Object.keys(topology).toSorted();
  return {
    name,
    nodeID,
    ...(topologyKeys.length === 0 ? {} : { topologyKeys }),
    ...(maxVolumes === undefined ? {} : { allocatable: { count: maxVolumes } }),
  };
}

/** The states of the CSINode's drivers that it has to go through, the last of which is right. An entry may come and
 *  go, but never change: one that is to change goes first. */
export function driverSteps(
  before: readonly CSINodeDriver[],
  drivers: readonly Told[],
  { settled }: Pick<CsiNodeRules, 'settled'>,
): readonly (readonly CSINodeDriver[])[] {
  const wanted = new Map(drivers.map((driver) => [driver.name, driverEntry(driver)]));
  const kept = before.filter((entry) => {
    const next = wanted.get(entry.name);
    return next === undefined ? !settled : isDeepStrictEqual(comparable(entry), comparable(next));
  });
  const keptNames = new Set(kept.map(({ name }) => name));
  const added = [...wanted.values()].filter(({ name }) => !keptNames.has(name));
  const isReplaced = added.some(({ name }) => before.some((entry) => entry.name === name));
  if (kept.length === before.length && added.length === 0) return [];
  return [...(isReplaced ? [kept] : []), [...kept, ...added]];
}

const comparable = ({ name, nodeID, topologyKeys = [], allocatable }: CSINodeDriver): object => ({
  name,
  nodeID,
  keys: topologyKeys.toSorted(),
  count: allocatable?.count,
});

/** The object as it is made, without drivers. */
export function newCsiNode(node: Node, apiVersion: string, rules: CsiNodeRules): CSINode {
  const { name = '', uid = '' } = node.metadata ?? {};
  return {
    apiVersion,
    kind: 'CSINode',
    metadata: {
      name,
      annotations: migrationAnnotation(rules),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
    },
    spec: { drivers: [] },
  };
}

/** Annotation that says which older plugins are left to CSI drivers. */
export const migrationAnnotation = (rules: CsiNodeRules): Readonly<Record<string, string>> => ({
  [migratedPluginsAnnotation(rules.domain)]: migratedPlugins(rules).join(','),
});

export interface NodeChange {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

/** What the node itself is to say of its drivers; undefined: it says so.
 *  @returns drivers whose place is not where the node is by its labels, which others may have set */
export function nodeChange(
  { metadata }: Node,
  drivers: readonly Told[],
  { domain, settled }: CsiNodeRules,
): { readonly change: NodeChange | undefined; readonly misplaced: readonly string[] } {
  const labels: Record<string, string> = {};
  const misplaced: string[] = [];
  for (const { name, topology } of drivers) {
    for (const [key, value] of Object.entries(topology)) {
      const there = labels[key] ?? metadata?.labels?.[key];
      if (there === undefined) labels[key] = value;
      else if (there !== value) misplaced.push(name);
    }
  }
  const key = `csi.volume.${domain}/nodeid`;
  const told = drivers.filter(({ name }) => !misplaced.includes(name));
  const ids = Object.fromEntries(
    told.map(({ name, nodeID }) => [name, nodeID] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const before = metadata?.annotations?.[key];
  const text = told.length === 0 ? undefined : JSON.stringify(ids);
  const isSame = text === before || (text === undefined && !settled);
  const annotations = isSame ? {} : { [key]: text ?? null };
  const isNothing = Object.keys(labels).length === 0 && isSame;
  return { change: isNothing ? undefined : { labels, annotations }, misplaced };
}
