/** NUMA hints for the devices of containers and pods. No I/O. */
import type { ResourceProvider } from '../contract.ts';
import type { NodeMask, TopologyHint } from '../topology/hints.ts';
import { devicesIn, type Reservation, type Reservations } from './bookings.ts';
import { deviceHints } from './device-hints.ts';
import { type DeviceRequests, uidOf, type Wanted } from './requests.ts';
import type { DeviceInventory } from './stock.ts';

export interface HintParts {
  readonly inventory: DeviceInventory;
  readonly reservations: Reservations;
  readonly requests: DeviceRequests;
  /** All NUMA nodes of the machine. */
  readonly machine: NodeMask;
}

const NONE: ReadonlySet<string> = new Set();

export function createPodHints({
  inventory,
  reservations,
  requests,
  machine,
}: HintParts): Pick<ResourceProvider, 'hints' | 'podHints'> {
  function hintsFor(
    { resource, count }: Wanted,
    had: readonly Reservation[],
    reusable: ReadonlySet<string>,
  ): readonly TopologyHint[] | undefined {
    const all = new Set(inventory.devices(resource).keys());
    const request = { needed: count, all, nodesOf: requests.nodesOf(resource), machine };
    const has = new Set(had.flatMap((reservation) => [...devicesIn(reservation)]));
    if (has.size === 0) return deviceHints({ ...request, free: requests.free(resource), reusable });
    // Existing reservations stay in place.
    return has.size === count ? deviceHints({ ...request, free: has, reusable: NONE }) : [];
  }

  return {
    hints: ({ pod, container }) =>
      Object.fromEntries(
        requests.wanted(container).map((want) => {
          const had = reservations.find(uidOf(pod), container.name, want.resource);
          const reusable = requests.reusable(pod, want.resource);
          return [want.resource, hintsFor(want, had === undefined ? [] : [had], reusable)];
        }),
      ),
    podHints: (pod) =>
      Object.fromEntries(
        requests.podWants(pod).map((want) => {
          const had = reservations.of(uidOf(pod)).filter(({ resource }) => resource === want.resource);
          return [want.resource, hintsFor(want, had, NONE)];
        }),
      ),
  };
}
