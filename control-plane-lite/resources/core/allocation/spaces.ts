/** Value ranges of services: cluster IPs and node ports. Pure. */
import {
  formatIp,
  formatIpRange,
  type IpFamily,
  type IpRange,
  parseIp,
  rangeContains,
} from '#api/meta/ip.ts';
import type { PoolSpace } from './pool.ts';

export interface PortRange {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
}

/** No more of a range is used: enough for any cluster, and few enough to be looked through. */
const MOST_ADDRESSES: Readonly<Record<IpFamily, bigint>> = { IPv4: 1n << 20n, IPv6: 1n << 16n };

/** Number of first addresses for services that name theirs: a sixteenth of the range, from 16 to 256. Source:
 *  upstream's static subrange, release 1.24. */
const staticAddresses = (size: number): number =>
  size <= 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 16)), 256);

/** Every address but the network's own and, in IPv4, the broadcast one.
 *  @param hasStatic whether the first ones are left to services that name their address */
export function ipSpace(range: IpRange, hasStatic = false): PoolSpace {
  const most = MOST_ADDRESSES[range.family];
  const capped = range.size < most ? range.size : most;
  const unused = range.family === 'IPv4' && capped === range.size ? 2n : 1n;
  const size = capped > unused ? Number(capped - unused) : 0;
  return {
    prefix: `/ranges/services/ips/${range.family}/`,
    size,
    reserved: hasStatic ? staticAddresses(size) : 0,
    description: formatIpRange(range),
    textOf: (index) => formatIp({ family: range.family, number: range.first + 1n + BigInt(index) }),
    indexOf(text) {
      const ip = parseIp(text);
      if (ip === undefined || !rangeContains(range, ip)) return undefined;
      const index = Number(ip.number - range.first - 1n);
      return index >= 0 && index < size ? index : undefined;
    },
  };
}

export function portSpace({ first, last }: PortRange): PoolSpace {
  const size = last - first + 1;
  return {
    prefix: '/ranges/services/nodeports/',
    size,
    description: `${first}-${last}`,
    textOf: (index) => String(first + index),
    indexOf(text) {
      const index = Number(text) - first;
      return Number.isInteger(index) && index >= 0 && index < size ? index : undefined;
    },
  };
}

/** Parses `30000-32767`, `30000+100` or a single port; `undefined` if the text is invalid. */
export function parsePortRange(text: string): PortRange | undefined {
  const [, low = '', sign = '', high = ''] = /^(\d{1,5})(?:([-+])(\d{1,5}))?$/.exec(text) ?? [];
  if (low === '') return undefined;
  const first = Number(low);
  const last = sign === '' ? first : sign === '-' ? Number(high) : first + Number(high);
  return first <= last && last <= 65_535 ? { first, last } : undefined;
}
