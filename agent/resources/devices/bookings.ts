/** Who has which devices. Kept in memory alone; `checkpoint.ts` is its form on disk. */
import type { NodeMask } from '../topology/hints.ts';
import type { CheckpointEntry } from './checkpoint.ts';
import type { NodesOf } from './choose.ts';

export interface Booking extends CheckpointEntry {
  /** Where the container was found to go; absent for a booking of an earlier agent. */
  readonly where?: NodeMask | undefined;
  /** Whether the plugin may still choose others. */
  readonly open: boolean;
}

/** Key of devices that say nothing of their memory nodes. */
const NO_NODE = -1;

/** Devices by their nodes; one on several is in each. */
export function byNode(devices: readonly string[], nodesOf: NodesOf): ReadonlyMap<number, readonly string[]> {
  const nodes = new Map<number, string[]>();
  for (const device of devices) {
    const of = nodesOf(device);
    for (const node of of.length === 0 ? [NO_NODE] : of)
      nodes.set(node, [...(nodes.get(node) ?? []), device]);
  }
  return nodes;
}

export const devicesIn = ({ devices }: Pick<CheckpointEntry, 'devices'>): ReadonlySet<string> =>
  new Set([...devices.values()].flat());

export interface Bookings {
  all(): readonly Booking[];
  find(podUID: string, container: string, resource: string): Booking | undefined;
  of(podUID: string, container?: string): readonly Booking[];
  put(booking: Booking): void;
  /** @returns whether there was something */
  release(podUID: string): boolean;
  holders(): ReadonlySet<string>;
  /** Devices of the resource that somebody has. */
  taken(resource: string): ReadonlySet<string>;
  /** Devices of the resource that init containers of the pod have and its others have not. */
  reusable(podUID: string, resource: string, isInit: (container: string) => boolean): ReadonlySet<string>;
}

export function createBookings(restored: readonly CheckpointEntry[]): Bookings {
  const pods = new Map<string, Booking[]>();

  function put(booking: Booking): void {
    const { podUID, container, resource } = booking;
    const others = (pods.get(podUID) ?? []).filter(
      (one) => one.container !== container || one.resource !== resource,
    );
    pods.set(podUID, [...others, booking]);
  }
  for (const entry of restored) put({ ...entry, open: false });

  const all = (): readonly Booking[] => [...pods.values()].flat();
  const union = (bookings: readonly Booking[]): ReadonlySet<string> =>
    new Set(bookings.flatMap((booking) => [...devicesIn(booking)]));
  const of = (podUID: string, container?: string): readonly Booking[] =>
    (pods.get(podUID) ?? []).filter((one) => container === undefined || one.container === container);

  return {
    all,
    find: (podUID, container, resource) => of(podUID, container).find((one) => one.resource === resource),
    of,
    put,
    release: (podUID) => pods.delete(podUID),
    holders: () => new Set(pods.keys()),
    taken: (resource) => union(all().filter((one) => one.resource === resource)),
    reusable(podUID, resource, isInit) {
      const own = of(podUID).filter((one) => one.resource === resource);
      const kept = union(own.filter(({ container }) => !isInit(container)));
      return union(own.filter(({ container }) => isInit(container))).difference(kept);
    },
  };
}
