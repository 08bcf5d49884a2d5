/** Topology hints of endpoints: each zone gets a share of the endpoints in proportion to its CPUs. Pure. Source:
 *  upstream's topology cache of the endpoint slice controller, release 1.24. */
import type { Node } from '#api/gen/core-v1.ts';
import type { Endpoint } from '#api/gen/discovery-v1.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

/** Share of all CPUs by zone. */
export type ZoneShares = ReadonlyMap<string, number>;

/** A zone may have this share more of the endpoints than of the CPUs. */
const OVERLOAD = 0.2;

interface Allocation {
  readonly least: number;
  readonly most: number;
  readonly desired: number;
}

const isReady = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** Returns the shares of the zones of ready worker nodes. `undefined`: there are fewer than two zones, or a node
 *  tells no zone or no CPUs. */
export function zoneShares(nodes: Iterable<Node>, { domain }: Vocabulary): ZoneShares | undefined {
  const excluded = ['control-plane', 'master'].map((role) => `node-role.${domain}/${role}`);
  const zoneLabel = `topology.${domain}/zone`;
  const cpus = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const { labels = {} } = node.metadata ?? {};
    if (!isReady(node) || excluded.some((label) => Object.hasOwn(labels, label))) continue;
    const zone = labels[zoneLabel] ?? '';
    const amount = Number(parseQuantity(node.status?.allocatable?.['cpu'] ?? '0').nanos);
    if (zone === '' || amount === 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + amount);
    total += amount;
  }
  if (cpus.size < 2) return undefined;
  return new Map([...cpus].map(([zone, amount]) => [zone, amount / total]));
}

/** The bounds of each zone; `undefined` if there are too few endpoints for the zones. */
function allocate(shares: ZoneShares, count: number): ReadonlyMap<string, Allocation> | undefined {
  if (shares.size > count) return undefined;
  const wanted = [...shares].map(([zone, share]) => {
    const desired = share * count;
    const least = Math.ceil(desired / (1 + OVERLOAD));
    return { zone, least, desired: Math.max(desired, least) };
  });
  const spare = count - wanted.reduce((sum, { least }) => sum + least, 0);
  if (spare < 0) return undefined;
  return new Map(
    wanted.map(({ zone, least, desired }) => [
      zone,
      { least, desired, most: desired === least ? least : least + spare },
    ]),
  );
}

type Counts = ReadonlyMap<string, number>;

function countsOf(hints: ReadonlyMap<Endpoint, string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const zone of hints.values()) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  return counts;
}

const fits = (counts: Counts, allocations: ReadonlyMap<string, Allocation>): boolean =>
  [...counts].every(([zone, count]) => count === 0 || allocations.has(zone)) &&
  [...allocations].every(([zone, { least, most }]) => {
    const count = counts.get(zone) ?? 0;
    return count >= least && count <= most;
  });

/** Moves hints, one at a time, from the zone that has most beyond its share to the one that lacks most. */
function redistribute(hints: Map<Endpoint, string>, allocations: ReadonlyMap<string, Allocation>): void {
  const counts = countsOf(hints);
  const lackOf = (zone: string): number => (allocations.get(zone)?.desired ?? 0) - (counts.get(zone) ?? 0);
  const zones = [...new Set([...allocations.keys(), ...counts.keys()])].toSorted();
  for (let moves = hints.size; moves > 0 && !fits(counts, allocations); moves -= 1) {
    const [giver = ''] = zones.toSorted((a, b) => lackOf(a) - lackOf(b));
    const [taker = ''] = zones
      .filter((zone) => allocations.has(zone))
      .toSorted((a, b) => lackOf(b) - lackOf(a));
    const moved = [...hints].find(([, zone]) => zone === giver);
    if (moved === undefined || giver === taker) return;
    hints.set(moved[0], taker);
    counts.set(giver, (counts.get(giver) ?? 0) - 1);
    counts.set(taker, (counts.get(taker) ?? 0) + 1);
  }
}

/** Returns the zone of each ready endpoint; `undefined` if there can be no hints.
 *  @param before the zone that an endpoint was hinted to so far */
export function decideHints(
  endpoints: readonly Endpoint[],
  shares: ZoneShares | undefined,
  before: (endpoint: Endpoint) => string | undefined,
): ReadonlyMap<Endpoint, string> | undefined {
  const ready = endpoints.filter(({ conditions }) => conditions?.ready === true);
  const allocations = shares && allocate(shares, ready.length);
  if (allocations === undefined || ready.some(({ zone = '' }) => zone === '')) return undefined;
  const known = new Map(ready.map((endpoint) => [endpoint, before(endpoint) ?? endpoint.zone ?? '']));
  if (fits(countsOf(known), allocations)) return known;
  const hints = new Map(ready.map((endpoint) => [endpoint, endpoint.zone ?? '']));
  redistribute(hints, allocations);
  return hints;
}
