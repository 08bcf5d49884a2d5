/** What the agent says about the node it runs on: name, addresses, capacity. */
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { availableParallelism, hostname, networkInterfaces, totalmem } from 'node:os';
import { join } from 'node:path';
import { decideAddresses, wishedAddresses } from '../registration/addresses.ts';
import { readNetwork } from '../registration/machine/read-network.ts';

/** The node's name: the override, or the host's name in lower case. */
export function nodeName(hostnameOverride: string): string {
  return (hostnameOverride === '' ? hostname() : hostnameOverride).trim().toLowerCase();
}

/** Addresses of the node for its pods, the primary one first: those configured, or that of the interface that leads
 *  out, else the first IPv4 one of an interface that is up, else the first IPv6 one, else loopback.
 *  @param nodeIP `--node-ip`: empty, one address, or a dual-stack pair; `::` prefers IPv6 */
export async function hostAddresses(nodeIP: string): Promise<readonly string[]> {
  const wanted = wishedAddresses(nodeIP);
  if (wanted.length > 0) return wanted;
  const network = await readNetwork();
  // A pod waits for no resolver.
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

/** Huge page sizes of this machine in bytes; none where the kernel has none. */
export async function hugePageSizesBytes(): Promise<readonly number[]> {
  const names = await readdir(HUGE_PAGES_DIR).catch(() => []);
  return names.flatMap((name) => {
    const kibibytes = /^hugepages-(\d+)kB$/.exec(name)?.[1];
    return kibibytes === undefined ? [] : [Number(kibibytes) * 1024];
  });
}

const INSTANCE = /^[a-z0-9]{16}$/;

/** The id under which this agent marks its objects in the runtime. It is kept in the root directory, so that an
 *  agent started on the same root knows them again, and one on another root never touches them. */
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
