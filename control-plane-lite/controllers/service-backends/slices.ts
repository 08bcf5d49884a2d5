/** The EndpointSlices of a service: what they should hold, and the fewest changes that bring them there. Pure.
 *  Source: upstream's endpoint slice controller, release 1.24. */
import { isIPv6 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import type { Service } from '#api/schema/gen/core-v1.ts';
import type { Endpoint, EndpointPort, EndpointSlice } from '#api/schema/gen/discovery-v1.ts';
import { type Backend, publishesUnready } from './backends.ts';

/** Endpoints in one slice. */
export const MOST_ENDPOINTS = 100;

/** What is in one slice, but for its name. */
export interface SliceContent {
  readonly addressType: 'IPv4' | 'IPv6';
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

export interface KnownSlice {
  readonly name: string;
  readonly slice: EndpointSlice;
}

export interface SliceChanges {
  readonly create: readonly SliceContent[];
  readonly update: readonly { readonly name: string; readonly content: SliceContent }[];
  readonly remove: readonly string[];
}

export interface SliceOptions {
  /** The zone of a node, if it has one. */
  readonly zoneOf: (nodeName: string) => string | undefined;
}

const FAMILIES = ['IPv4', 'IPv6'] as const;
type Family = (typeof FAMILIES)[number];

const familiesOf = ({ spec }: Service): readonly Family[] =>
  spec?.ipFamilies === undefined || spec.ipFamilies.length === 0
    ? FAMILIES
    : FAMILIES.filter((family) => spec.ipFamilies?.includes(family));

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

const groupKey = ({ addressType, ports = [] }: Pick<EndpointSlice, 'addressType' | 'ports'>): string =>
  JSON.stringify([
    addressType,
    ports.map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol]),
  ]);

type Group = Pick<SliceContent, 'addressType' | 'ports'> & { readonly endpoints: Map<string, Endpoint> };

function wantedGroups(
  service: Service,
  backends: readonly Backend[],
  options: SliceOptions,
): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const addressType of familiesOf(service)) {
    for (const backend of backends) {
      const address = backend.ips.find((ip) => isIPv6(ip) === (addressType === 'IPv6'));
      if (address === undefined) continue;
      const ports = portsOf(backend);
      const key = groupKey({ addressType, ports });
      const group: Group = groups.get(key) ?? { addressType, ports, endpoints: new Map() };
      groups.set(key, group);
      group.endpoints.set(backend.targetRef.uid ?? address, endpointOf(service, backend, address, options));
    }
  }
  return groups;
}

const uidOf = ({ targetRef, addresses }: Endpoint): string => targetRef?.uid ?? addresses[0] ?? '';

/** What the slices that are there have to become. Each endpoint stays in its slice as long as it can, so that few
 *  watchers hear of a change; new ones fill up the fullest slice that has room. */
export function decideSlices(
  service: Service,
  backends: readonly Backend[],
  known: readonly KnownSlice[],
  options: SliceOptions,
): SliceChanges {
  const groups = wantedGroups(service, backends, options);
  const changes = { create: [] as SliceContent[], update: [] as { name: string; content: SliceContent }[] };
  const remove: string[] = [];
  const filled = new Map<
    string,
    { readonly name: string; readonly before: EndpointSlice; endpoints: Endpoint[] }[]
  >();
  for (const { name, slice } of known) {
    const group = groups.get(groupKey(slice));
    const endpoints = slice.endpoints.flatMap((endpoint) => {
      const wanted = group?.endpoints.get(uidOf(endpoint));
      group?.endpoints.delete(uidOf(endpoint));
      return wanted ?? [];
    });
    if (group === undefined) remove.push(name);
    else
      filled.set(groupKey(slice), [
        ...(filled.get(groupKey(slice)) ?? []),
        { name, before: slice, endpoints },
      ]);
  }
  for (const [key, { addressType, ports, endpoints: left }] of groups) {
    const slices = filled.get(key) ?? [];
    const rest = [...left.values()];
    for (const slice of slices.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
      slice.endpoints.push(...rest.splice(0, Math.max(0, MOST_ENDPOINTS - slice.endpoints.length)));
    }
    for (const { name, before, endpoints } of slices) {
      const content = { addressType, ports, endpoints };
      if (endpoints.length === 0) remove.push(name);
      else if (!isDeepStrictEqual(before.endpoints, endpoints)) changes.update.push({ name, content });
    }
    while (rest.length > 0) {
      changes.create.push({ addressType, ports, endpoints: rest.splice(0, MOST_ENDPOINTS) });
    }
  }
  return { ...changes, remove };
}
