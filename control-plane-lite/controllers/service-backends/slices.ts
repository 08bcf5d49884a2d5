/** Desired content of the EndpointSlices of a service with a selector. Pure. Source: upstream's endpoint
 *  slice controller, release 1.24. */
import { isIPv6 } from 'node:net';
import type { Service } from '#api/gen/core-v1.ts';
import type { Endpoint, EndpointPort } from '#api/gen/discovery-v1.ts';
import { type Backend, publishesUnready } from './backends.ts';
import {
  ADDRESS_TYPES,
  type AddressType,
  endpointId,
  groupKey,
  type KnownSlice,
  packSlices,
  type SliceChanges,
  type SliceGroup,
} from './pack-slices.ts';
import { decideHints, type ZoneShares } from './topology-hints.ts';

export interface SliceOptions {
  /** The zone of a node, if it has one. */
  readonly zoneOf: (nodeName: string) => string | undefined;
  /** Shares of the zones, for hints; absent: endpoints have none. */
  readonly shares?: ZoneShares | undefined;
  /** Whether endpoints tell that they serve, or terminate. Default true. */
  readonly conditions?: boolean;
}

const familiesOf = ({ spec }: Service): readonly AddressType[] =>
  spec?.ipFamilies === undefined || spec.ipFamilies.length === 0
    ? ADDRESS_TYPES
    : ADDRESS_TYPES.filter((family) => spec.ipFamilies?.includes(family));

const portsOf = ({ ports }: Backend): readonly EndpointPort[] =>
  ports.map(({ name, port, protocol, appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));

function endpointOf(service: Service, backend: Backend, address: string, options: SliceOptions): Endpoint {
  const { zoneOf, conditions: hasConditions = true } = options;
  const { serving, terminating, nodeName, hostname, targetRef } = backend;
  const zone = nodeName === undefined ? undefined : zoneOf(nodeName);
  return {
    addresses: [address],
    conditions: {
      ready: publishesUnready(service) || (serving && !terminating),
      ...(hasConditions ? { serving, terminating } : {}),
    },
    ...(hostname === undefined ? {} : { hostname }),
    targetRef,
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
  };
}

function wantedGroups(
  service: Service,
  backends: readonly Backend[],
  options: SliceOptions,
): ReadonlyMap<string, SliceGroup> {
  const groups = new Map<string, SliceGroup>();
  for (const addressType of familiesOf(service)) {
    for (const backend of backends) {
      const address = backend.ips.find((ip) => isIPv6(ip) === (addressType === 'IPv6'));
      if (address === undefined) continue;
      const ports = portsOf(backend);
      const key = groupKey({ addressType, ports });
      const group: SliceGroup = groups.get(key) ?? { addressType, ports, endpoints: new Map() };
      groups.set(key, group);
      group.endpoints.set(backend.targetRef.uid ?? address, endpointOf(service, backend, address, options));
    }
  }
  return groups;
}

const hintedZone = ({ hints }: Endpoint): string | undefined => hints?.forZones?.[0]?.name;

/** Adds the hints of ready endpoints to a group, so that each zone has its share. */
function addHints({ endpoints }: SliceGroup, known: readonly KnownSlice[], shares: ZoneShares): void {
  const before = new Map(
    known.flatMap(({ slice }) =>
      slice.endpoints.map((each) => [endpointId(each), hintedZone(each)] as const),
    ),
  );
  const hints = decideHints([...endpoints.values()], shares, (endpoint) => before.get(endpointId(endpoint)));
  for (const [id, endpoint] of endpoints) {
    const zone = hints?.get(endpoint);
    if (zone !== undefined) endpoints.set(id, { ...endpoint, hints: { forZones: [{ name: zone }] } });
  }
}

/** Changes that lead from the current slices of a service to the desired ones. A service without endpoints of
 *  an address family gets an empty slice, so that clients can tell "none" from "not known yet". */
export const decideSlices = (
  service: Service,
  backends: readonly Backend[],
  known: readonly KnownSlice[],
  options: SliceOptions,
): SliceChanges => {
  const groups = wantedGroups(service, backends, options);
  const { shares } = options;
  if (shares !== undefined) for (const group of groups.values()) addHints(group, known, shares);
  return packSlices(groups, known, { placeholders: familiesOf(service) });
};
