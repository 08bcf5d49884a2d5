/** Node addresses. Pure. Source: upstream's node address setter, release 1.24. */
import { isIPv6 } from 'node:net';
import type { NodeAddress } from '#api/gen/core-v1.ts';
import { type IpAddress, parseIp, parseIpRange, rangeContains } from '#api/meta/ip.ts';
import type { NetworkFacts } from '../machine/types.ts';

export interface AddressOptions {
  /** `--node-ip`: empty, one address, or one of each family; `::` prefers IPv6 and `0.0.0.0` IPv4. */
  readonly nodeIP: string;
  /** Name of the node; may be an address itself. */
  readonly hostname: string;
}

export type AddressDecision =
  | { readonly kind: 'found'; readonly addresses: readonly NodeAddress[] }
  /** No address was found, for this reason. */
  | { readonly kind: 'none'; readonly message: string };

const UNSPECIFIED: readonly string[] = ['0.0.0.0', '::'];
/** Ranges that are not valid as node addresses, with the error. */
const BARRED = [
  ['127.0.0.0/8', 'is a loopback address'],
  ['::1/128', 'is a loopback address'],
  ['224.0.0.0/4', 'is a multicast address'],
  ['ff00::/8', 'is a multicast address'],
  ['169.254.0.0/16', 'is a link-local address'],
  ['fe80::/10', 'is a link-local address'],
  ['0.0.0.0/32', 'is an unspecified address'],
  ['::/128', 'is an unspecified address'],
].map(([range = '', error = '']) => ({ range: parseIpRange(range), error }));

const sameAddress = (left: IpAddress, right: IpAddress | undefined): boolean =>
  right !== undefined && left.family === right.family && left.number === right.number;

function barredError(ip: IpAddress): string | undefined {
  return BARRED.find(({ range }) => range !== undefined && rangeContains(range, ip))?.error;
}

/** Returns why an address is not valid for this node. */
function addressError(text: string, network: NetworkFacts): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'is not an IP address';
  const barred = barredError(ip);
  if (barred !== undefined) return barred;
  const own = network.addresses.some(({ address }) => sameAddress(ip, parseIp(address)));
  return own ? undefined : 'does not belong to an interface of this machine';
}

/** Returns the first address of the preferred family, else the first of all. */
function preferred(addresses: readonly string[], v6: boolean): string | undefined {
  return addresses.find((address) => isIPv6(address) === v6) ?? addresses[0];
}

/** Returns the addresses of interfaces with default routes, ordered by metric. */
function routedAddresses(network: NetworkFacts): readonly string[] {
  const routes = network.defaultRoutes.toSorted((a, b) => a.metric - b.metric);
  return routes.flatMap(({ interfaceName, family }) => {
    const found = network.addresses.find((one) => {
      if (one.interfaceName !== interfaceName) return false;
      const ip = parseIp(one.address);
      return ip?.family === family && barredError(ip) === undefined;
    });
    return found === undefined ? [] : [found.address];
  });
}

/** Searches in upstream's order: the node name if it is an address, its resolved addresses, the default
 *  routes. */
function findAddress({ nodeIP, hostname }: AddressOptions, network: NetworkFacts): string | undefined {
  if (parseIp(hostname) !== undefined) return hostname;
  const v6 = nodeIP === '::';
  const resolved = network.resolved.filter((address) => addressError(address, network) === undefined);
  return preferred(resolved, v6) ?? preferred(routedAddresses(network), v6);
}

/** Returns the addresses in `--node-ip`, the primary one first; empty where it only selects a family. */
export function requestedAddresses(nodeIP: string): readonly string[] {
  return nodeIP
    .split(',')
    .map((ip) => ip.trim())
    .filter((ip) => ip !== '' && !UNSPECIFIED.includes(ip));
}

/** Returns the addresses of the node, the primary one first. */
export function decideAddresses(options: AddressOptions, network: NetworkFacts): AddressDecision {
  const { nodeIP, hostname } = options;
  const wanted = requestedAddresses(nodeIP);
  for (const ip of wanted) {
    const error = addressError(ip, network);
    if (error !== undefined) return { kind: 'none', message: `node IP ${ip} ${error}` };
  }
  const found = wanted.length > 0 ? wanted : [findAddress(options, network)];
  const addresses = found.flatMap((address): readonly NodeAddress[] =>
    address === undefined ? [] : [{ type: 'InternalIP', address }],
  );
  if (addresses.length === 0) {
    return { kind: 'none', message: 'no interface with a default route has an address' };
  }
  return { kind: 'found', addresses: [...addresses, { type: 'Hostname', address: hostname }] };
}
