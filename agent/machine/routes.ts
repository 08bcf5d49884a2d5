/** Default routes from the kernel's tables. Pure. Source: proc(5), net/ipv4/fib_trie.c, net/ipv6/route.c. */
import type { DefaultRoute } from './types.ts';

/** RTF_UP: usable. RTF_REJECT: a reject route. */
const UP = 0x0001;
const REJECT = 0x0200;
const NOWHERE_V6 = '0'.repeat(32);

const usable = (flags: number): boolean => (flags & UP) !== 0 && (flags & REJECT) === 0;

/** Parses the default routes of `/proc/net/route`. */
export function parseRoutes(text: string): readonly DefaultRoute[] {
  return text.split('\n').flatMap((line): readonly DefaultRoute[] => {
    const [interfaceName = '', destination, , flags = '', , , metric, mask] = line.trim().split(/\s+/);
    if (destination !== '00000000' || mask !== '00000000') return [];
    if (!usable(Number.parseInt(flags, 16))) return [];
    return [{ interfaceName, family: 'IPv4', metric: Number(metric) }];
  });
}

/** Parses the default routes of `/proc/net/ipv6_route`. */
export function parseRoutes6(text: string): readonly DefaultRoute[] {
  return text.split('\n').flatMap((line): readonly DefaultRoute[] => {
    const [destination, prefix, , , , metric = '', , , flags = '', interfaceName] = line.trim().split(/\s+/);
    if (interfaceName === undefined || destination !== NOWHERE_V6 || prefix !== '00') return [];
    // The table ends with a reject route for destinations without another one.
    if (interfaceName === 'lo' || !usable(Number.parseInt(flags, 16))) return [];
    return [{ interfaceName, family: 'IPv6', metric: Number.parseInt(metric, 16) }];
  });
}
