/** Names inside of a pod: its hostname and domain, hosts file, and DNS settings from its policy, the cluster's and
 *  the host's resolv.conf. Pure.
 *  Source: upstream's DNS for pods; hosts(5); resolv.conf(5); sethostname(2) for the kernel's limit of 64 bytes.
 *  Deviation: the IPv6 multicast names have their proper addresses (ff00::0, ff02::1, ff02::2); upstream's
 *  are in the deprecated site-local range. */
import type { HostAlias, Pod, PodDNSConfig, PodDNSConfigOption } from '#api/gen/core-v1.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import { dns1123LabelErrors } from '#api/meta/names.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { DNSConfig } from '#cri/gen/cri-v1.ts';

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

const LOCAL_LINES: readonly string[] = [
  '127.0.0.1\tlocalhost',
  '::1\tlocalhost ip6-localhost ip6-loopback',
  'fe00::0\tip6-localnet',
  'ff00::0\tip6-mcastprefix',
  'ff02::1\tip6-allnodes',
  'ff02::2\tip6-allrouters',
];

const MAX_SERVERS = 3;
/** glibc before 2.28 aborts on a longer search domain. */
const LONGEST_SEARCH_DOMAIN = 255;
const CLUSTER_OPTIONS: readonly string[] = ['ndots:5'];

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

export interface DnsSettings {
  /** `clusterDNS` of the configuration. */
  readonly clusterDNS: readonly string[];
  /** `clusterDomain` of the configuration; may be empty. */
  readonly clusterDomain: string;
  /** resolv.conf of the host; `undefined` when `resolvConf` is configured empty, meaning "none". */
  readonly hostResolvConf: ResolvConf | undefined;
  /** Whether the node's primary address is IPv6. */
  readonly nodeIsIPv6: boolean;
  /** Feature gate ExpandedDNSConfig: 32 searches of 2048 characters instead of 6 of 256. */
  readonly expandedLimits: boolean;
}

/** A warning that is emitted as an event of the pod. */
export interface ConfigWarning {
  readonly reason: 'MissingClusterDNS' | 'DNSConfigForming' | 'InvalidEnvironmentVariableNames';
  readonly message: string;
}

export interface PodDns {
  readonly config: DNSConfig;
  readonly warnings: readonly ConfigWarning[];
}

/** Returns the content of the pod's resolv.conf. Excess entries are dropped with a warning. */
export function decidePodDns(pod: Pod, settings: DnsSettings): PodDns {
  const warnings: ConfigWarning[] = [];
  const base = baseConfig(pod, settings, warnings);
  const custom = pod.spec?.dnsConfig;
  const merged = custom === undefined ? base : mergeDnsConfig(base, custom);
  const config = fitLimits(merged, settings.expandedLimits, warnings);
  return { config, warnings };
}

type DnsSource = 'cluster' | 'host' | 'none';

function dnsSource(pod: Pod): DnsSource {
  const policy = pod.spec?.dnsPolicy ?? 'ClusterFirst';
  switch (policy) {
    case 'None':
      return 'none';
    case 'Default':
      return 'host';
    case 'ClusterFirstWithHostNet':
      return 'cluster';
    case 'ClusterFirst':
      return pod.spec?.hostNetwork === true ? 'host' : 'cluster';
    default:
      return policy satisfies never;
  }
}

function baseConfig(pod: Pod, settings: DnsSettings, warnings: ConfigWarning[]): DNSConfig {
  const source = dnsSource(pod);
  if (source === 'none') return { servers: [], searches: [], options: [] };
  if (source === 'host') return hostConfig(settings);
  const { clusterDNS } = settings;
  if (clusterDNS.length > 0) {
    return { servers: clusterDNS, searches: clusterSearches(pod, settings), options: CLUSTER_OPTIONS };
  }
  // A node without cluster DNS is the usual standalone node; only pods that explicitly request it get the
  // warning.
  if (pod.spec?.dnsPolicy === 'ClusterFirstWithHostNet' || settings.clusterDomain !== '') {
    const message = `no cluster DNS server is configured; pod uses the DNS settings of its node instead of policy ${pod.spec?.dnsPolicy ?? 'ClusterFirst'}`;
    warnings.push({ reason: 'MissingClusterDNS', message });
  }
  return hostConfig(settings);
}

/** Without a host file the resolver's default is written explicitly: the local server, no search list. */
function hostConfig({ hostResolvConf, nodeIsIPv6 }: DnsSettings): DNSConfig {
  return hostResolvConf ?? { servers: [nodeIsIPv6 ? '::1' : '127.0.0.1'], searches: ['.'], options: [] };
}

function clusterSearches(pod: Pod, { clusterDomain, hostResolvConf }: DnsSettings): readonly string[] {
  const hostSearches = hostResolvConf?.searches ?? [];
  if (clusterDomain === '') return hostSearches;
  const services = `svc.${clusterDomain}`;
  const own = [`${pod.metadata?.namespace ?? 'default'}.${services}`, services, clusterDomain];
  return [...new Set([...own, ...hostSearches])];
}

/** Appends the pod's own entries to those of its policy without duplicates; options are replaced by name. */
function mergeDnsConfig(base: DNSConfig, custom: PodDNSConfig): DNSConfig {
  return {
    servers: [...new Set([...base.servers, ...(custom.nameservers ?? [])])],
    searches: [...new Set([...base.searches, ...(custom.searches ?? [])])],
    options: mergeOptions(base.options, custom.options ?? []),
  };
}

function mergeOptions(base: readonly string[], custom: readonly PodDNSConfigOption[]): readonly string[] {
  const options = new Map<string, string>();
  for (const option of base) options.set(option.split(':', 1)[0] ?? option, option);
  for (const { name = '', value = '' } of custom) {
    if (name !== '') options.set(name, value === '' ? name : `${name}:${value}`);
  }
  return [...options.values()];
}

function fitLimits(config: DNSConfig, expanded: boolean, warnings: ConfigWarning[]): DNSConfig {
  const servers = config.servers.slice(0, MAX_SERVERS);
  if (servers.length < config.servers.length) {
    const message = `more than ${MAX_SERVERS} nameservers, the applied nameserver line is: ${servers.join(' ')}`;
    warnings.push({ reason: 'DNSConfigForming', message });
  }
  const searches = fitSearches(config.searches, expanded ? 32 : 6, expanded ? 2048 : 256);
  if (searches.length < config.searches.length) {
    const message = `too many or too long search domains, the applied search line is: ${searches.join(' ')}`;
    warnings.push({ reason: 'DNSConfigForming', message });
  }
  return { servers, searches, options: config.options };
}

function fitSearches(searches: readonly string[], maxCount: number, maxLength: number): readonly string[] {
  const retained: string[] = [];
  let length = -1;
  for (const domain of searches) {
    if (domain.length > LONGEST_SEARCH_DOMAIN) continue;
    length += 1 + domain.length;
    if (retained.length === maxCount || length > maxLength) break;
    retained.push(domain);
  }
  return retained;
}

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Parses the settings. Of several `search` lines the last one counts, options accumulate. The trailing dot
 *  of a search domain is removed to detect duplicates.
 *  Deviation: `domain` is a search list of one, as in the C library; upstream ignores it. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  const options: string[] = [];
  let searches: readonly string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || line.startsWith(';')) continue;
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) servers.push(values[0]);
    else if (keyword === 'search') searches = values.map(withoutTrailingDot);
    else if (keyword === 'domain') searches = values.slice(0, 1).map(withoutTrailingDot);
    else if (keyword === 'options') options.push(...values);
  }
  return { servers, searches, options: [...new Set(options)] };
}

const withoutTrailingDot = (domain: string): string =>
  domain.length > 1 && domain.endsWith('.') ? domain.slice(0, -1) : domain;
