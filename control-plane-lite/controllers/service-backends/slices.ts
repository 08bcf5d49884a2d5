/** Desired content of the EndpointSlices of a service with a selector. Pure. Source: upstream's endpoint
 *  slice controller, release 1.24. */
import { isIPv6 } from 'node:net';
import type { Service } from '#api/gen/core-v1.ts';
import type { Endpoint, EndpointPort } from '#api/gen/discovery-v1.ts';
import { type Backend, publishesUnready } from './backends.ts';
import {
  ADDRESS_TYPES,
  type AddressType,
  groupKey,
  type KnownSlice,
  packSlices,
  type SliceChanges,
  type SliceGroup,
} from './pack-slices.ts';

export interface SliceOptions {
  /** The zone of a node, if it has one. */
  readonly zoneOf: (nodeName: string) => string | undefined;
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

function endpointOf(service: Service, backend: Backend, address: string, { zoneOf }: SliceOptions): Endpoint {
  const { serving, terminating, nodeName, hostname, targetRef } = backend;
  const zone = nodeName === undefined ? undefined : zoneOf(nodeName);
  return {
    addresses: [address],
    conditions: { ready: publishesUnready(service) || (serving && !terminating), serving, terminating },
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

/** Changes that lead from the current slices of a service to the desired ones. A service without endpoints of
 *  an address family gets an empty slice, so that clients can tell "none" from "not known yet". */
export const decideSlices = (
  service: Service,
  backends: readonly Backend[],
  known: readonly KnownSlice[],
  options: SliceOptions,
): SliceChanges =>
  packSlices(wantedGroups(service, backends, options), known, { placeholders: familiesOf(service) });
