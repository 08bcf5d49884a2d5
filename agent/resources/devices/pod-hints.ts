/** On which memory nodes containers and pods could have their devices. No I/O. */
import type { ResourceProvider } from '../contract.ts';
import type { NodeMask, TopologyHint } from '../topology/hints.ts';
import { type Booking, type Bookings, devicesIn } from './bookings.ts';
import { deviceHints } from './device-hints.ts';
import { type DeviceRequests, uidOf, type Wanted } from './requests.ts';
import type { Stock } from './stock.ts';

export interface HintParts {
  readonly stock: Stock;
  readonly bookings: Bookings;
  readonly requests: DeviceRequests;
  /** Every memory node of the machine. */
  readonly machine: NodeMask;
}

const NONE: ReadonlySet<string> = new Set();

export function createPodHints({
  stock,
  bookings,
  requests,
  machine,
}: HintParts): Pick<ResourceProvider, 'hints' | 'podHints'> {
  function hintsFor(
    { resource, count }: Wanted,
    had: readonly Booking[],
    reusable: ReadonlySet<string>,
  ): readonly TopologyHint[] | undefined {
    const all = new Set(stock.devices(resource).keys());
    const question = { needed: count, all, nodesOf: requests.nodesOf(resource), machine };
    const has = new Set(had.flatMap((booking) => [...devicesIn(booking)]));
    if (has.size === 0) return deviceHints({ ...question, free: requests.free(resource), reusable });
    // Where it is, it stays.
    return has.size === count ? deviceHints({ ...question, free: has, reusable: NONE }) : [];
  }

  return {
    hints: ({ pod, container }) =>
      Object.fromEntries(
        requests.wanted(container).map((want) => {
          const had = bookings.find(uidOf(pod), container.name, want.resource);
          const reusable = requests.reusable(pod, want.resource);
          return [want.resource, hintsFor(want, had === undefined ? [] : [had], reusable)];
        }),
      ),
    podHints: (pod) =>
      Object.fromEntries(
        requests.podWants(pod).map((want) => {
          const had = bookings.of(uidOf(pod)).filter(({ resource }) => resource === want.resource);
          return [want.resource, hintsFor(want, had, NONE)];
        }),
      ),
  };
}
