/** Device requests of containers, and the devices available for them. No I/O. */

import type { Container, Pod } from '#api/gen/core-v1.ts';
import { quantityToNumber } from '#api/meta/quantity.ts';
import type { Reservations } from './bookings.ts';
import type { NodesOf } from './choose.ts';
import type { DeviceInventory } from './stock.ts';

export interface Wanted {
  readonly resource: string;
  readonly count: number;
}

export interface DeviceRequests {
  /** Requested devices of the container, for resources of known plugins, in the order of their names. */
  wanted(container: Container): readonly Wanted[];
  /** Maximum that the pod requires at any time. */
  podWants(pod: Pod): readonly Wanted[];
  /** Healthy devices without a reservation. */
  free(resource: string): ReadonlySet<string>;
  /** Devices of the pod's init containers that its other containers can reuse. */
  reusable(pod: Pod, resource: string): ReadonlySet<string>;
  nodesOf(resource: string): NodesOf;
}

export const uidOf = ({ metadata }: Pod): string => metadata?.uid ?? '';

/** Sidecars are excluded: they retain their devices. */
const initNames = ({ spec }: Pod): ReadonlySet<string> =>
  new Set(
    (spec?.initContainers ?? []).filter((one) => one.restartPolicy !== 'Always').map(({ name }) => name),
  );

export function createDeviceRequests(inventory: DeviceInventory, reservations: Reservations): DeviceRequests {
  const wanted = ({ resources }: Container): readonly Wanted[] =>
    Object.entries(resources?.limits ?? {})
      .filter(([resource]) => inventory.knows(resource))
      .map(([resource, amount]) => ({ resource, count: quantityToNumber(amount) }))
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => (a.resource < b.resource ? -1 : 1));

  return {
    wanted,
    podWants({ spec }) {
      const most = new Map<string, number>();
      for (const { resource, count } of (spec?.containers ?? []).flatMap(wanted)) {
        most.set(resource, (most.get(resource) ?? 0) + count);
      }
      for (const { resource, count } of (spec?.initContainers ?? []).flatMap(wanted)) {
        most.set(resource, Math.max(most.get(resource) ?? 0, count));
      }
      return [...most].map(([resource, count]) => ({ resource, count }));
    },
    free(resource) {
      const healthy = [...inventory.devices(resource).values()].filter((device) => device.healthy);
      return new Set(healthy.map(({ id }) => id)).difference(reservations.reserved(resource));
    },
    reusable(pod, resource) {
      const names = initNames(pod);
      return reservations.reusable(uidOf(pod), resource, (container) => names.has(container));
    },
    nodesOf: (resource) => (device) => inventory.devices(resource).get(device)?.nodes ?? [],
  };
}
