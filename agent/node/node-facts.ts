/** Name, addresses and capacity of the node. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { availableParallelism, hostname, networkInterfaces, totalmem } from 'node:os';
import { join } from 'node:path';
import { readNetwork } from '../machine/read-network.ts';
import { decideAddresses, requestedAddresses } from '../registration/addresses.ts';

/** Returns the name of the node: the override, or the hostname in lower case. */
export function nodeName(hostnameOverride: string): string {
  return (hostnameOverride === '' ? hostname() : hostnameOverride).trim().toLowerCase();
}

/** Returns the addresses of the node for its pods, the primary one first: those configured, or that of the
 *  interface with the default route, else the first IPv4 one of an interface that is up, else the first IPv6
 *  one, else loopback.
 *  @param nodeIP `--node-ip`: empty, one address, or a dual-stack pair; `::` prefers IPv6 */
export async function hostAddresses(nodeIP: string): Promise<readonly string[]> {
  const wanted = requestedAddresses(nodeIP);
  if (wanted.length > 0) return wanted;
  const network = await readNetwork();
  // Skips name resolution, which could delay pods.
  const routed = decideAddresses({ nodeIP, hostname: '' }, { ...network, resolved: [] });
  if (routed.kind === 'found') return routed.addresses.slice(0, 1).map(({ address }) => address);
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const usable = all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:'));
  const v4 = usable.find(({ family }) => family === 'IPv4')?.address;
  const v6 = usable.find(({ family }) => family === 'IPv6')?.address;
  const found = nodeIP === '::' ? (v6 ?? v4) : (v4 ?? v6);
  return [found ?? '127.0.0.1'];
}

export const prefersIPv6 = (addresses: readonly string[]): boolean => isIPv6(addresses[0] ?? '');

/** Capacity by resource name in base units: cores and bytes. */
export function nodeCapacity(): Readonly<Record<string, number>> {
  return { cpu: availableParallelism(), memory: totalmem() };
}

const HUGE_PAGES_DIR = '/sys/kernel/mm/hugepages';

/** Returns huge page sizes of this machine in bytes; empty where the kernel has none. */
export async function hugePageSizesBytes(): Promise<readonly number[]> {
  const names = await readdir(HUGE_PAGES_DIR).catch(() => []);
  return names.flatMap((name) => {
    const kibibytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    return kibibytes === undefined ? [] : [Number(kibibytes) * 1024];
  });
}

const INSTANCE = /^[a-z0-9]{16}$/;

/** Returns the instance ID that marks the agent's objects in the runtime. It is stored in the root directory,
 *  so that an agent with the same root recognizes them, and one with another root never touches them. */
export async function instanceId(rootDir: string): Promise<string> {
  const path = join(rootDir, 'instance');
  const known = await readFile(path, 'utf8').catch(() => '');
  if (INSTANCE.test(known.trim())) return known.trim();
  const fresh = randomBytes(8).toString('hex');
  await mkdir(rootDir, { recursive: true, mode: 0o750 });
  await writeFile(`${path}.tmp`, `${fresh}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.tmp`, path);
  return fresh;
}
