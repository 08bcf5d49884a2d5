/** IP addresses and ranges as numbers. Pure. Source: RFC 4291, RFC 4632, RFC 5952. */
import { isIP } from 'node:net';

export type IpFamily = 'IPv4' | 'IPv6';

export interface IpAddress {
  readonly family: IpFamily;
  readonly number: bigint;
}

/** A range of addresses: all that share the first `prefixBits` bits with `first`. */
export interface IpRange {
  readonly family: IpFamily;
  /** Lowest address. */
  readonly first: bigint;
  /** Number of addresses. */
  readonly size: bigint;
  readonly prefixBits: number;
}

const BITS: Readonly<Record<IpFamily, number>> = { IPv4: 32, IPv6: 128 };

const DOT = 0x2e;
const DIGIT_ZERO = 0x30;

/** The text is an address: four numbers without leading zeros. */
function parseIPv4(text: string): bigint {
  let number = 0;
  let part = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      number = number * 256 + part;
      part = 0;
    } else part = part * 10 + code - DIGIT_ZERO;
  }
  return BigInt(number * 256 + part);
}

/** Sixteen-bit groups of one side of `::`; a trailing IPv4 address counts as two. */
function groupsOf(text: string): readonly bigint[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [BigInt(`0x${group}`)];
    const last = parseIPv4(group);
    return [last >> 16n, last & 0xffffn];
  });
}

function parseIPv6(text: string): bigint {
  const [head = '', tail] = text.split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const missing = Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: missing }, () => 0n), ...after];
  return groups.reduce((number, group) => (number << 16n) | group, 0n);
}

/** Parses an address without a zone; `undefined` if the text is invalid. */
export function parseIp(text: string): IpAddress | undefined {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 4) return { family: 'IPv4', number: parseIPv4(text) };
  return version === 6 ? { family: 'IPv6', number: parseIPv6(text) } : undefined;
}

/** Returns the family of an address; `undefined` if the text is invalid. */
export function ipFamilyOf(text: string): IpFamily | undefined {
  const version = text.includes('%') ? 0 : isIP(text);
  if (version === 0) return undefined;
  return version === 4 ? 'IPv4' : 'IPv6';
}

/** Formats an address canonically; in IPv6 the longest run of zero groups becomes `::`. */
export function formatIp({ family, number }: IpAddress): string {
  if (family === 'IPv4') {
    return [24n, 16n, 8n, 0n].map((shift) => String((number >> shift) & 255n)).join('.');
  }
  const groups = Array.from({ length: 8 }, (_, index) =>
    ((number >> BigInt(112 - index * 16)) & 0xffffn).toString(16),
  );
  const runs = groups.map((_, start) => {
    let length = 0;
    while (groups[start + length] === '0') length += 1;
    return length;
  });
  const longest = Math.max(...runs);
  if (longest < 2) return groups.join(':');
  const start = runs.indexOf(longest);
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + longest).join(':')}`;
}

/** Parses `10.0.0.0/24`; bits beyond the prefix are cleared. `undefined` if the text is invalid. */
export function parseIpRange(text: string): IpRange | undefined {
  const [address = '', bits = ''] = text.split('/', 2);
  const ip = parseIp(address);
  if (ip === undefined || !/^\d{1,3}$/.test(bits) || text.split('/').length !== 2) return undefined;
  const prefixBits = Number(bits);
  if (prefixBits > BITS[ip.family]) return undefined;
  const size = 1n << BigInt(BITS[ip.family] - prefixBits);
  return { family: ip.family, first: ip.number - (ip.number % size), size, prefixBits };
}

/** Returns a range such as `10.0.0.0/24`. */
export function formatIpRange({ family, first, prefixBits }: IpRange): string {
  return `${formatIp({ family, number: first })}/${prefixBits}`;
}

export function rangeContains(range: IpRange, ip: IpAddress): boolean {
  return ip.family === range.family && ip.number >= range.first && ip.number < range.first + range.size;
}

const SPECIAL: readonly (readonly [range: IpRange | undefined, reason: string])[] = [
  [parseIpRange('0.0.0.0/32'), 'may not be unspecified (0.0.0.0 or ::)'],
  [parseIpRange('::/128'), 'may not be unspecified (0.0.0.0 or ::)'],
  [parseIpRange('127.0.0.0/8'), 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [parseIpRange('::1/128'), 'may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  [parseIpRange('169.254.0.0/16'), 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [parseIpRange('fe80::/10'), 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  [parseIpRange('224.0.0.0/24'), 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
  [parseIpRange('ff02::/16'), 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
];

/** Returns reasons why an address cannot be that of another machine, or why a text is not an address. */
export function nonSpecialIpErrors(text: string): readonly string[] {
  const ip = parseIp(text);
  if (ip === undefined) return [IP_ERROR];
  return SPECIAL.filter(([range]) => range !== undefined && rangeContains(range, ip)).map(
    ([, reason]) => reason,
  );
}

/** Message for a text that is not an address. */
export const IP_ERROR = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
