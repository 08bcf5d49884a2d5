/** The addresses by which others reach the node. Pure. Source: upstream's node address setter, release 1.24. */
import { isIPv6 } from 'node:net';
import { type IpAddress, parseIp, parseIpRange, rangeContains } from '#api/meta/ip.ts';
import type { NodeAddress } from '#api/schema/gen/core-v1.ts';
import type { NetworkFacts } from './machine/types.ts';

export interface AddressWishes {
  /** `--node-ip`: empty, one address, or one of each family; `::` prefers IPv6 and `0.0.0.0` IPv4. */
  readonly nodeIP: string;
  /** The name the node goes by; may be an address itself. */
  readonly hostname: string;
}

export type AddressDecision =
  | { readonly kind: 'found'; readonly addresses: readonly NodeAddress[] }
  /** No address can be told, for this reason. */
  | { readonly kind: 'none'; readonly message: string };

const UNSPECIFIED: readonly string[] = ['0.0.0.0', '::'];
/** Why an address can't be a node's. */
const BARRED = [
  ['127.0.0.0/8', 'is a loopback address'],
  ['::1/128', 'is a loopback address'],
  ['224.0.0.0/4', 'is a multicast address'],
  ['ff00::/8', 'is a multicast address'],
  ['169.254.0.0/16', 'is a link-local address'],
  ['fe80::/10', 'is a link-local address'],
  ['0.0.0.0/32', 'is no address of a machine'],
  ['::/128', 'is no address of a machine'],
].map(([range = '', fault = '']) => ({ range: parseIpRange(range), fault }));

const sameAddress = (left: IpAddress, right: IpAddress | undefined): boolean =>
  right !== undefined && left.family === right.family && left.number === right.number;

function barredFault(ip: IpAddress): string | undefined {
  return BARRED.find(({ range }) => range !== undefined && rangeContains(range, ip))?.fault;
}

/** Why an address is none that this node can be reached by. */
function addressFault(text: string, network: NetworkFacts): string | undefined {
  const ip = parseIp(text);
  if (ip === undefined) return 'is no IP address';
  const barred = barredFault(ip);
  if (barred !== undefined) return barred;
  const own = network.addresses.some(({ address }) => sameAddress(ip, parseIp(address)));
  return own ? undefined : 'is not of an interface of this machine';
}

/** The one of the family preferred, else the first. */
function preferred(addresses: readonly string[], v6: boolean): string | undefined {
  return addresses.find((address) => isIPv6(address) === v6) ?? addresses[0];
}

/** Addresses of the interfaces that lead out of the machine, the best way of each family first. */
function routedAddresses(network: NetworkFacts): readonly string[] {
  const routes = network.defaultRoutes.toSorted((a, b) => a.metric - b.metric);
  return routes.flatMap(({ interfaceName, family }) => {
    const found = network.addresses.find((one) => {
      if (one.interfaceName !== interfaceName) return false;
      const ip = parseIp(one.address);
      return ip?.family === family && barredFault(ip) === undefined;
    });
    return found === undefined ? [] : [found.address];
  });
}

/** Looks as upstream does: the node's name if it is an address, what the resolver has for it, the way out. */
function findAddress({ nodeIP, hostname }: AddressWishes, network: NetworkFacts): string | undefined {
  if (parseIp(hostname) !== undefined) return hostname;
  const v6 = nodeIP === '::';
  const resolved = network.resolved.filter((address) => addressFault(address, network) === undefined);
  return preferred(resolved, v6) ?? preferred(routedAddresses(network), v6);
}

/** The addresses that `--node-ip` names, the primary one first; none where it only names a family. */
export function wishedAddresses(nodeIP: string): readonly string[] {
  return nodeIP
    .split(',')
    .map((ip) => ip.trim())
    .filter((ip) => ip !== '' && !UNSPECIFIED.includes(ip));
}

/** The node's addresses; the first is the primary one. */
export function decideAddresses(wishes: AddressWishes, network: NetworkFacts): AddressDecision {
  const { nodeIP, hostname } = wishes;
  const wanted = wishedAddresses(nodeIP);
  for (const ip of wanted) {
    const fault = addressFault(ip, network);
    if (fault !== undefined) return { kind: 'none', message: `node IP ${ip} ${fault}` };
  }
  const found = wanted.length > 0 ? wanted : [findAddress(wishes, network)];
  const addresses = found.flatMap((address): readonly NodeAddress[] =>
    address === undefined ? [] : [{ type: 'InternalIP', address }],
  );
  if (addresses.length === 0) {
    return { kind: 'none', message: 'no interface with an address leads out of this machine' };
  }
  return { kind: 'found', addresses: [...addresses, { type: 'Hostname', address: hostname }] };
}
