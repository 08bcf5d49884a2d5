/** Device reservations by pod and container, in memory; `checkpoint.ts` is their form on disk. */
import type { NodeMask } from '../topology/hints.ts';
import type { CheckpointEntry } from './checkpoint.ts';
import type { NodesOf } from './choose.ts';

export interface Reservation extends CheckpointEntry {
  /** NUMA nodes selected at admission; absent for a reservation of an earlier run. */
  readonly where?: NodeMask | undefined;
  /** Whether the plugin may still prefer other devices. */
  readonly open: boolean;
}

/** Key of devices without NUMA information. */
const NO_NODE = -1;

/** Groups devices by NUMA node; one with several nodes is in each group. */
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

export interface Reservations {
  all(): readonly Reservation[];
  find(podUID: string, container: string, resource: string): Reservation | undefined;
  of(podUID: string, container?: string): readonly Reservation[];
  put(reservation: Reservation): void;
  /** @returns whether the pod had reservations */
  release(podUID: string): boolean;
  holders(): ReadonlySet<string>;
  /** Reserved devices of the resource. */
  reserved(resource: string): ReadonlySet<string>;
  /** Devices of the resource that init containers of the pod hold and its other containers do not. */
  reusable(podUID: string, resource: string, isInit: (container: string) => boolean): ReadonlySet<string>;
}

export function createReservations(restored: readonly CheckpointEntry[]): Reservations {
  const pods = new Map<string, Reservation[]>();

  function put(reservation: Reservation): void {
    const { podUID, container, resource } = reservation;
    const others = (pods.get(podUID) ?? []).filter(
      (one) => one.container !== container || one.resource !== resource,
    );
    pods.set(podUID, [...others, reservation]);
  }
  for (const entry of restored) put({ ...entry, open: false });

  const all = (): readonly Reservation[] => [...pods.values()].flat();
  const union = (reservations: readonly Reservation[]): ReadonlySet<string> =>
    new Set(reservations.flatMap((reservation) => [...devicesIn(reservation)]));
  const of = (podUID: string, container?: string): readonly Reservation[] =>
    (pods.get(podUID) ?? []).filter((one) => container === undefined || one.container === container);

  return {
    all,
    find: (podUID, container, resource) => of(podUID, container).find((one) => one.resource === resource),
    of,
    put,
    release: (podUID) => pods.delete(podUID),
    holders: () => new Set(pods.keys()),
    reserved: (resource) => union(all().filter((one) => one.resource === resource)),
    reusable(podUID, resource, isInit) {
      const own = of(podUID).filter((one) => one.resource === resource);
      const inUse = union(own.filter(({ container }) => !isInit(container)));
      return union(own.filter(({ container }) => isInit(container))).difference(inUse);
    },
  };
}
