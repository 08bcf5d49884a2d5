/** Content of the managed hosts file of a pod. Pure. Source: hosts(5).
 *  Deviation: the IPv6 multicast names have their proper addresses (ff00::0, ff02::1, ff02::2); upstream's
 *  are in the deprecated site-local range. */

import type { HostAlias } from '#api/gen/core-v1.ts';
import { trimEnd } from '#api/kit/trim-end.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

type HostsNames = Pick<Vocabulary, 'managedHostsHeader'>;

export interface PodHosts {
  readonly vocabulary: HostsNames;
  /** Addresses of the pod, the primary one first. */
  readonly podIPs: readonly string[];
  readonly hostname: string;
  /** Empty for a pod without subdomain. */
  readonly domain: string;
  readonly hostAliases?: readonly HostAlias[];
}

const LOCAL_LINES: readonly string[] = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'ff00::0\tip6-mcastprefix',
  'ff02::1\tip6-allnodes',
  'ff02::2\tip6-allrouters',
];

/** For a pod with its own network namespace. */
export function podHostsFile({ vocabulary, podIPs, hostname, domain, hostAliases = [] }: PodHosts): string {
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  const own = podIPs.map((ip) => `${ip}\t${names}`);
  return lines([`${vocabulary.managedHostsHeader}.`, ...LOCAL_LINES, ...own, ...aliasLines(hostAliases)]);
}

/** For a pod with host networking: the file of the node, with the aliases of the pod.
 *  @param nodeHostsFile content of the node's /etc/hosts */
export function hostNetworkHostsFile(
  vocabulary: HostsNames,
  nodeHostsFile: string,
  hostAliases: readonly HostAlias[] = [],
): string {
  const node = trimEnd(nodeHostsFile, '\n');
  return lines([
    `${vocabulary.managedHostsHeader} (host network).`,
    ...(node === '' ? [] : [node]),
    ...aliasLines(hostAliases),
  ]);
}

function aliasLines(hostAliases: readonly HostAlias[]): readonly string[] {
  if (hostAliases.length === 0) return [];
  const entries = hostAliases.map(({ ip = '', hostnames = [] }) => [ip, ...hostnames].join('\t'));
  return ['', '# Entries added by HostAliases.', ...entries];
}

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;
