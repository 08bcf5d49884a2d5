/** CSINode and node labels for the registered CSI drivers. Pure. Source: upstream's `nodeinfomanager`,
 *  release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Node } from '#api/gen/core-v1.ts';
import type { CSINode, CSINodeDriver } from '#api/gen/storage-v1.ts';
import { migratedPlugins, migratedPluginsAnnotation } from '#api/meta/csi-migration.ts';
import type { Driver } from '#volumes/contract/csi.ts';

type ReportedDriver = Pick<Driver, 'name' | 'nodeID' | 'topology' | 'maxVolumes'>;

export interface CsiNodeRules {
  /** Domain of the vocabulary. */
  readonly domain: string;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
  /** Whether drivers that have not registered count as removed rather than late. */
  readonly settled: boolean;
}

export function driverEntry({ name, nodeID, topology, maxVolumes }: ReportedDriver): CSINodeDriver {
  const topologyKeys = Object.keys(topology).toSorted();
  return {
    name,
    nodeID,
    ...(topologyKeys.length === 0 ? {} : { topologyKeys }),
    ...(maxVolumes === undefined ? {} : { allocatable: { count: maxVolumes } }),
  };
}

/** Returns the sequence of driver lists of the CSINode, ending with the desired one. Entries may be added and
 *  removed but are immutable: one to change is removed first. */
export function driverSteps(
  before: readonly CSINodeDriver[],
  drivers: readonly ReportedDriver[],
  { settled }: Pick<CsiNodeRules, 'settled'>,
): readonly (readonly CSINodeDriver[])[] {
  const wanted = new Map(drivers.map((driver) => [driver.name, driverEntry(driver)]));
  const retained = before.filter((entry) => {
    const next = wanted.get(entry.name);
    return next === undefined ? !settled : isDeepStrictEqual(comparable(entry), comparable(next));
  });
  const retainedNames = new Set(retained.map(({ name }) => name));
  const added = [...wanted.values()].filter(({ name }) => !retainedNames.has(name));
  const isReplaced = added.some(({ name }) => before.some((entry) => entry.name === name));
  if (retained.length === before.length && added.length === 0) return [];
  return [...(isReplaced ? [retained] : []), [...retained, ...added]];
}

const comparable = ({ name, nodeID, topologyKeys = [], allocatable }: CSINodeDriver): object => ({
  name,
  nodeID,
  keys: topologyKeys.toSorted(),
  count: allocatable?.count,
});

/** Returns the new object, without drivers. */
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

/** Annotation with the in-tree plugins that are migrated to CSI drivers. */
export const migrationAnnotation = (rules: CsiNodeRules): Readonly<Record<string, string>> => ({
  [migratedPluginsAnnotation(rules.domain)]: migratedPlugins(rules).join(','),
});

export interface NodeChange {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

/** Returns the change of the node for its drivers, undefined when it is up to date, and the drivers whose
 *  topology conflicts with the node labels, which others may have set. */
export function nodeChange(
  { metadata }: Node,
  drivers: readonly ReportedDriver[],
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
  const reported = drivers.filter(({ name }) => !misplaced.includes(name));
  const ids = Object.fromEntries(
    reported.map(({ name, nodeID }) => [name, nodeID] as const).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
  const before = metadata?.annotations?.[key];
  const text = reported.length === 0 ? undefined : JSON.stringify(ids);
  const isSame = text === before || (text === undefined && !settled);
  const annotations = isSame ? {} : { [key]: text ?? null };
  const isNothing = Object.keys(labels).length === 0 && isSame;
  return { change: isNothing ? undefined : { labels, annotations }, misplaced };
}
