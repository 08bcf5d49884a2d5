/** Objects of the API server's Service, and their comparison with the stored ones. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';

/** Name and namespace of the service. */
export const NAMESPACE = 'default';
const HTTPS_PORT = 443;
const IDENTITY: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** Addresses of the servers after one was added (`by` 1) or removed (-1). Pure. */
export function addressesWith(
  known: readonly string[],
  { address, shared }: { readonly address: string; readonly shared: boolean },
  by: 1 | -1,
): readonly string[] {
  const others = shared ? known.filter((each) => each !== address) : [];
  return by === 1 ? [...others, address].toSorted() : others;
}

export const addressesOf = (object: ApiObject | undefined): readonly string[] => {
  if (object === undefined) return [];
  const { subsets = [] } = typed<Endpoints>(object);
  return subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
};

/** Reports whether an object contains all desired members; other members are ignored. */
export function hasMembers(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live) || live.length !== wanted.length) return false;
    return wanted.every((item, index) => hasMembers(live[index], item));
  }
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(live, wanted);
  if (typeof live !== 'object' || live === null) return false;
  return Object.entries(wanted).every(([member, value]) => hasMembers(Reflect.get(live, member), value));
}

/** The object with the desired members, without empty ones, which the decoder omits. A service retains its
 *  address and its other allocations, except its ports. */
export function withOwn(
  found: ApiObject,
  { spec, ...members }: Readonly<Record<string, unknown>>,
  wanted: Readonly<Record<string, unknown>>,
): ApiObject {
  const result: ApiObject = { ...found };
  for (const member of Object.keys(wanted)) {
    if (member === 'spec' || IDENTITY.has(member)) continue;
    if (members[member] === undefined) delete result[member];
    else result[member] = members[member];
  }
  if (spec === undefined) return result;
  const { ports } = typed<Service>({ ...found, spec }).spec ?? {};
  return { ...result, spec: { ...typed<Service>(found).spec, ports } };
}

export function serviceObject(name: string, targetPort: number, clusterIP: string | undefined): ApiObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: NAMESPACE, labels: { component: 'apiserver', provider: name } },
    spec: {
      ...(clusterIP === undefined ? {} : { clusterIP }),
      ports: [{ name: 'https', protocol: 'TCP', port: HTTPS_PORT, targetPort }],
    },
  };
}

export function endpointsObject(
  { apiService: name, domain }: Vocabulary,
  addresses: readonly string[],
  port: number,
): ApiObject {
  const ports = [{ name: 'https', port, protocol: 'TCP' }];
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      name,
      namespace: NAMESPACE,
      labels: { [`endpointslice.${domain}/skip-mirror`]: 'true' },
    },
    subsets: addresses.length === 0 ? [] : [{ addresses: addresses.map((ip) => ({ ip })), ports }],
  };
}

export function sliceObject(
  { apiService: name, domain, apiGroupDomain }: Vocabulary,
  addresses: readonly string[],
  port: number,
): ApiObject {
  const family = addresses.some((address) => address.includes(':')) ? 'IPv6' : 'IPv4';
  return {
    apiVersion: `discovery.${apiGroupDomain}/v1`,
    kind: 'EndpointSlice',
    metadata: { name, namespace: NAMESPACE, labels: { [`${domain}/service-name`]: name } },
    addressType: family,
    endpoints: addresses.map((address) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  };
}
