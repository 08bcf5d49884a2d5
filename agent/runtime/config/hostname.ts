/** Hostname and domain of a pod, and its managed hosts file. Pure.
 *  Source: upstream's DNS for pods; hosts(5); sethostname(2) for the kernel's limit of 64 bytes.
 *  Deviation: the IPv6 multicast names have their proper addresses (ff00::0, ff02::1, ff02::2); upstream's
 *  are in the deprecated site-local range. */

import type { HostAlias, Pod } from '#api/gen/core-v1.ts';
import { trimEnd } from '#api/kit/trim-end.ts';
import { dns1123LabelErrors } from '#api/meta/names.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

export interface PodHostname {
  readonly kind: 'ok';
  /** Short name, at most 63 characters. */
  readonly hostname: string;
  /** `<subdomain>.<namespace>.svc.<cluster domain>`, empty without a subdomain. */
  readonly domain: string;
  /** Hostname in the kernel: the short name, or the FQDN with setHostnameAsFQDN. */
  readonly kernelHostname: string;
}

export interface HostnameError {
  readonly kind: 'error';
  readonly message: string;
}

const LONGEST_LABEL = 63;
const LONGEST_KERNEL_NAME = 64;

/** Returns the names of the pod, or an error: an invalid hostname or subdomain, or an FQDN beyond 64
 *  characters. */
export function podHostname(pod: Pod, clusterDomain: string): PodHostname | HostnameError {
  const { hostname: wanted = '', subdomain = '', setHostnameAsFQDN = false } = pod.spec ?? {};
  for (const [field, name] of [
    ['hostname', wanted],
    ['subdomain', subdomain],
  ] as const) {
    const errors = name === '' ? [] : dns1123LabelErrors(name);
    if (errors[0] !== undefined) {
      return {
        kind: 'error',
        message: `spec.${field} ${JSON.stringify(name)} is not a DNS label: ${errors[0]}`,
      };
    }
  }
  const hostname = truncateHostname(wanted === '' ? (pod.metadata?.name ?? '') : wanted);
  if (hostname === '') return { kind: 'error', message: 'pod has no name to derive a hostname from' };
  const domain = subdomain === '' ? '' : podDomain(subdomain, pod.metadata?.namespace ?? '', clusterDomain);
  if (!setHostnameAsFQDN || domain === '') return { kind: 'ok', hostname, domain, kernelHostname: hostname };
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length > LONGEST_KERNEL_NAME) {
    const message = `setHostnameAsFQDN: ${fqdn} has ${fqdn.length} characters, a hostname at most ${LONGEST_KERNEL_NAME}`;
    return { kind: 'error', message };
  }
  return { kind: 'ok', hostname, domain, kernelHostname: fqdn };
}

const podDomain = (subdomain: string, namespace: string, clusterDomain: string): string =>
  [subdomain, namespace, 'svc', clusterDomain].filter((part) => part !== '').join('.');

/** Truncates to 63 characters and strips trailing characters that cannot end a label. */
const truncateHostname = (name: string): string =>
  name.length <= LONGEST_LABEL ? name : trimEnd(name.slice(0, LONGEST_LABEL), '-.');

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
