/** DNS settings of a pod, from its policy, the cluster's and the host's resolv.conf. Pure.
 *  Source: upstream's DNS for pods; format and limits of the C library's resolver, resolv.conf(5). */
import type { Pod, PodDNSConfig, PodDNSConfigOption } from '#api/gen/core-v1.ts';
import type { DNSConfig } from '#cri/gen/cri-v1.ts';

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

const MAX_SERVERS = 3;
/** glibc before 2.28 aborts on a longer search domain. */
const LONGEST_SEARCH_DOMAIN = 255;
const CLUSTER_OPTIONS: readonly string[] = ['ndots:5'];

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
