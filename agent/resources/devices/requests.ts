/** What containers ask for, and what there is for them. No I/O. */
import { quantityToNumber } from '#api/meta/quantity.ts';
import type { Container, Pod } from '#api/schema/gen/core-v1.ts';
import type { Bookings } from './bookings.ts';
import type { NodesOf } from './choose.ts';
import type { Stock } from './stock.ts';

export interface Wanted {
  readonly resource: string;
  readonly count: number;
}

export interface DeviceRequests {
  /** Devices that the container asks for, of resources that plugins have, in the order of their names. */
  wanted(container: Container): readonly Wanted[];
  /** The most that the pod may have at a time. */
  podWants(pod: Pod): readonly Wanted[];
  /** Healthy devices that nobody has. */
  free(resource: string): ReadonlySet<string>;
  /** Devices that the pod's init containers leave to its others. */
  reusable(pod: Pod, resource: string): ReadonlySet<string>;
  nodesOf(resource: string): NodesOf;
}

export const uidOf = ({ metadata }: Pod): string => metadata?.uid ?? '';

/** One that goes on beside the others keeps what it has. */
const initNames = ({ spec }: Pod): ReadonlySet<string> =>
  new Set(
    (spec?.initContainers ?? []).filter((one) => one.restartPolicy !== 'Always').map(({ name }) => name),
  );

export function createDeviceRequests(stock: Stock, bookings: Bookings): DeviceRequests {
  const wanted = ({ resources }: Container): readonly Wanted[] =>
    Object.entries(resources?.limits ?? {})
      .filter(([resource]) => stock.knows(resource))
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
      const healthy = [...stock.devices(resource).values()].filter((device) => device.healthy);
      return new Set(healthy.map(({ id }) => id)).difference(bookings.taken(resource));
    },
    reusable(pod, resource) {
      const names = initNames(pod);
      return bookings.reusable(uidOf(pod), resource, (container) => names.has(container));
    },
    nodesOf: (resource) => (device) => stock.devices(resource).get(device)?.nodes ?? [],
  };
}
