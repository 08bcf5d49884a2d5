/** EndpointSlices that mirror a user-managed Endpoints object: whether it is mirrored, and the content of the
 *  slices. Pure. Source: upstream's EndpointSlice mirroring controller, release 1.24. */
import { isIP } from 'node:net';
import type { EndpointAddress, EndpointPort, Endpoints, Service } from '#api/gen/core-v1.ts';
import type { Endpoint } from '#api/gen/discovery-v1.ts';
import { groupKey, type SliceGroup } from '../service-backends/pack-slices.ts';

/** Addresses of one subset that are mirrored; the others are left out. */
export const MOST_MIRRORED = 1000;

/** Labels and annotations that decide about mirroring. */
export interface MirrorNames {
  readonly skipLabel: string;
  readonly serviceLabel: string;
  readonly managerLabel: string;
  readonly manager: string;
  /** Annotation of an object that serves as a lock of a leader election. */
  readonly leaderAnnotation: string;
  /** Annotations that say something about the Endpoints object alone. */
  readonly ownAnnotations: readonly string[];
}

/** Endpoints are mirrored for a service that has no selector: nothing else creates slices for it. */
export function isMirrored(
  service: Service | undefined,
  { metadata = {} }: Endpoints,
  { skipLabel, leaderAnnotation }: MirrorNames,
): boolean {
  if (service === undefined || service.spec?.selector !== undefined) return false;
  return metadata.labels?.[skipLabel] !== 'true' && metadata.annotations?.[leaderAnnotation] === undefined;
}

const endpointOf = (
  { ip, hostname = '', nodeName, targetRef }: EndpointAddress,
  ready: boolean,
): Endpoint => ({
  addresses: [ip],
  conditions: { ready },
  ...(hostname === '' ? {} : { hostname }),
  ...(targetRef === undefined ? {} : { targetRef }),
  ...(nodeName === undefined ? {} : { nodeName }),
});

const slicePortsOf = (ports: readonly EndpointPort[]): SliceGroup['ports'] =>
  ports.map(({ name = '', port, protocol = 'TCP', appProtocol }) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  }));

/** Endpoints by address family and ports. */
export function mirroredGroups({ subsets = [] }: Endpoints): ReadonlyMap<string, SliceGroup> {
  const groups = new Map<string, SliceGroup>();
  for (const { addresses = [], notReadyAddresses = [], ports: given = [] } of subsets) {
    const ports = slicePortsOf(given);
    const all = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ];
    for (const { address, ready } of all.slice(0, MOST_MIRRORED)) {
      const family = isIP(address.ip);
      if (family === 0) continue;
      const addressType = family === 6 ? 'IPv6' : 'IPv4';
      const key = groupKey({ addressType, ports });
      const group: SliceGroup = groups.get(key) ?? { addressType, ports, endpoints: new Map() };
      groups.set(key, group);
      const id = address.targetRef?.uid ?? address.ip;
      if (!group.endpoints.has(id)) group.endpoints.set(id, endpointOf(address, ready));
    }
  }
  return groups;
}

/** Metadata that a mirroring slice takes from the Endpoints. */
export function mirroredMetadata(
  { metadata = {} }: Endpoints,
  { serviceLabel, managerLabel, manager, ownAnnotations }: MirrorNames,
): { readonly labels: Record<string, string>; readonly annotations: Record<string, string> } {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(
    ([name]) => !ownAnnotations.includes(name),
  );
  return {
    labels: { ...metadata.labels, [serviceLabel]: metadata.name ?? '', [managerLabel]: manager },
    annotations: Object.fromEntries(annotations),
  };
}
