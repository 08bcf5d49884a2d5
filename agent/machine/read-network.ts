/** Reads addresses and default routes of the machine. */
import { readFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseRoutes, parseRoutes6 } from './routes.ts';
import type { InterfaceAddress, NetworkFacts } from './types.ts';

function interfaceAddresses(): readonly InterfaceAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([interfaceName, addresses = []]) =>
    addresses.map(({ address }) => ({ interfaceName, address })),
  );
}

/** @param base parent of `/proc`; for tests */
export async function readNetwork(base = '/'): Promise<Omit<NetworkFacts, 'resolved'>> {
  const read = (path: string): Promise<string> => readFile(join(base, path), 'utf8').catch(() => '');
  const [routes, routes6] = await Promise.all([read('proc/net/route'), read('proc/net/ipv6_route')]);
  return {
    addresses: interfaceAddresses(),
    defaultRoutes: [...parseRoutes(routes), ...parseRoutes6(routes6)],
  };
}
