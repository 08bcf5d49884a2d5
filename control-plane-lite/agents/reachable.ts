/** Decides which addresses this server connects to for a client. Nodes, pods and Endpoints are written by
 *  clients: none of them may direct a request to an address that only this machine can reach. Pure.
 *  Source: upstream's checks of proxied addresses. */
import { type IpAddress, type IpRange, parseIp, parseIpRange, rangeContains } from '#api/meta/ip.ts';

/** The agent of a node that registered the address, or any other target. */
export type Destination = 'agent' | 'other';

const ranges = (...texts: readonly string[]): readonly IpRange[] =>
  texts.map(parseIpRange).filter((range) => range !== undefined);

/** Addresses never connected to: unspecified, multicast, broadcast, and link-local, where clouds serve
 *  credentials. */
const NEVER = ranges('0.0.0.0/8', '::/128', '224.0.0.0/3', 'ff00::/8', '169.254.0.0/16', 'fe80::/10');
const LOOPBACK = ranges('127.0.0.0/8', '::1/128');
const MAPPED = ranges('::ffff:0:0/96');

/** Returns the IPv4 address of an IPv4-mapped IPv6 address. */
function unmapped(ip: IpAddress): IpAddress {
  const isMapped = MAPPED.some((range) => rangeContains(range, ip));
  return isMapped ? { family: 'IPv4', number: ip.number & 0xffff_ffffn } : ip;
}

const isIn = (ip: IpAddress, among: readonly IpRange[]): boolean =>
  among.some((range) => rangeContains(range, ip));

export function isLoopback(address: string): boolean {
  const ip = parseIp(address);
  return ip !== undefined && isIn(unmapped(ip), LOOPBACK);
}

/** Deviation: an agent on this machine may be reached at a loopback address; see decision 0027. */
export function isReachable(address: string, destination: Destination): boolean {
  const parsed = parseIp(address);
  if (parsed === undefined) return false;
  const ip = unmapped(parsed);
  if (isIn(ip, NEVER)) return false;
  return destination === 'agent' || !isIn(ip, LOOPBACK);
}
