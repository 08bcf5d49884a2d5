/** Packing of endpoints into EndpointSlices: the fewest changes that lead from the current slices to the
 *  desired endpoints. Pure. Source: upstream's endpoint slice reconciler, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Endpoint, EndpointPort, EndpointSlice } from '#api/gen/discovery-v1.ts';

/** Endpoints in one slice. */
export const MOST_ENDPOINTS = 100;

export const ADDRESS_TYPES = ['IPv4', 'IPv6'] as const;
export type AddressType = (typeof ADDRESS_TYPES)[number];

/** Content of one slice without its name. */
export interface SliceContent {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** Endpoints that share slices: one address family and the same ports. */
export interface SliceGroup {
  readonly addressType: AddressType;
  readonly ports: readonly EndpointPort[];
  /** By `endpointId`. */
  readonly endpoints: Map<string, Endpoint>;
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

export interface PackOptions {
  /** Address families that have an empty slice while they have no endpoint. */
  readonly placeholders: readonly AddressType[];
}

interface OpenSlice {
  readonly name: string;
  readonly before: EndpointSlice;
  endpoints: Endpoint[];
}

export const groupKey = ({ addressType, ports = [] }: Pick<EndpointSlice, 'addressType' | 'ports'>): string =>
  JSON.stringify([
    addressType,
    ports.map(({ name, port, protocol, appProtocol }) => [name, port, protocol, appProtocol]),
  ]);

/** Identifies an endpoint across states of a slice: the object behind it, or its address. */
export const endpointId = ({ targetRef, addresses }: Endpoint): string =>
  targetRef?.uid ?? addresses[0] ?? '';

const isPlaceholder = ({ endpoints, ports = [] }: EndpointSlice): boolean =>
  endpoints.length === 0 && ports.length === 0;

/** Adds the empty slices that are wanted: of each family of which no other slice is left. One that exists already
 *  stays. */
function withPlaceholders(
  { create, update, remove }: SliceChanges,
  known: readonly KnownSlice[],
  families: readonly AddressType[],
): SliceChanges {
  const placeholders: SliceContent[] = [];
  const spared: string[] = [];
  for (const addressType of families) {
    const ofFamily = known.filter(({ slice }) => slice.addressType === addressType);
    const stays = ofFamily.some(({ name }) => !remove.includes(name));
    if (stays || create.some((content) => content.addressType === addressType)) continue;
    const existing = ofFamily.find(({ slice }) => isPlaceholder(slice));
    if (existing === undefined) placeholders.push({ addressType, ports: [], endpoints: [] });
    else spared.push(existing.name);
  }
  return {
    create: [...create, ...placeholders],
    update,
    remove: remove.filter((name) => !spared.includes(name)),
  };
}

/** Each endpoint stays in its slice as long as it can, so that few watchers receive a change; new ones fill up the
 *  fullest slice with space left. Takes the endpoints out of `groups`. */
export function packSlices(
  groups: ReadonlyMap<string, SliceGroup>,
  known: readonly KnownSlice[],
  { placeholders }: PackOptions,
): SliceChanges {
  const create: SliceContent[] = [];
  const update: { name: string; content: SliceContent }[] = [];
  const remove: string[] = [];
  const open = new Map<string, OpenSlice[]>();
  for (const { name, slice } of known) {
    const key = groupKey(slice);
    const group = groups.get(key);
    if (group === undefined) {
      remove.push(name);
      continue;
    }
    const endpoints = slice.endpoints.flatMap((endpoint) => {
      const id = endpointId(endpoint);
      const wanted = group.endpoints.get(id);
      group.endpoints.delete(id);
      return wanted ?? [];
    });
    open.set(key, [...(open.get(key) ?? []), { name, before: slice, endpoints }]);
  }
  for (const [key, { addressType, ports, endpoints: left }] of groups) {
    const slices = open.get(key) ?? [];
    const rest = [...left.values()];
    for (const slice of slices.toSorted((a, b) => b.endpoints.length - a.endpoints.length)) {
      slice.endpoints.push(...rest.splice(0, Math.max(0, MOST_ENDPOINTS - slice.endpoints.length)));
    }
    for (const { name, before, endpoints } of slices) {
      if (endpoints.length === 0) remove.push(name);
      else if (!isDeepStrictEqual(before.endpoints, endpoints)) {
        update.push({ name, content: { addressType, ports, endpoints } });
      }
    }
    while (rest.length > 0) create.push({ addressType, ports, endpoints: rest.splice(0, MOST_ENDPOINTS) });
  }
  return withPlaceholders({ create, update, remove }, known, placeholders);
}
