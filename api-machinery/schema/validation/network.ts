/** Validation of the pod's names and name resolution: hostname, subdomain, DNS policy and config, host
 *  aliases. */
import { isIP } from 'node:net';
import type { HostAlias, PodDNSConfig, PodSpec } from '../../gen/core-v1.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

export interface DnsLimits {
  readonly nameservers: number;
  readonly searches: number;
  /** Total length of all search domains including the blanks between them. */
  readonly searchCharacters: number;
}

/** Limits that every resolver supports. */
export const DNS_LIMITS: DnsLimits = { nameservers: 3, searches: 6, searchCharacters: 256 };
/** With the feature gate ExpandedDNSConfig. */
export const EXPANDED_DNS_LIMITS: DnsLimits = { nameservers: 3, searches: 32, searchCharacters: 2048 };

function validateDnsConfig(errors: FieldErrors, config: PodDNSConfig, limits: DnsLimits, path: string): void {
  const { nameservers = [], searches = [], options = [] } = config;
  if (nameservers.length > limits.nameservers) {
    errors.add('FieldValueTooMany', `${path}.nameservers`, `must have at most ${limits.nameservers} items`);
  }
  for (const [index, server] of nameservers.entries()) {
    if (isIP(server) === 0) errors.invalid(`${path}.nameservers[${index}]`, server, 'must be an IP address');
  }
  if (searches.length > limits.searches) {
    errors.add('FieldValueTooMany', `${path}.searches`, `must have at most ${limits.searches} items`);
  }
  if (searches.join(' ').length > limits.searchCharacters) {
    errors.add(
      'FieldValueTooLong',
      `${path}.searches`,
      `must have at most ${limits.searchCharacters} characters in total`,
    );
  }
  for (const [index, search] of searches.entries()) {
    const name = search.endsWith('.') ? search.slice(0, -1) : search;
    errors.invalidAll(`${path}.searches[${index}]`, search, dns1123SubdomainErrors(name));
  }
  for (const [index, option] of options.entries()) {
    const at = `${path}.options[${index}]`;
    if ((option.name ?? '') === '') errors.required(`${at}.name`);
    // Written to resolv.conf verbatim.
    const text = `${option.name ?? ''}${option.value ?? ''}`;
    if (/\s/.test(text)) errors.invalid(at, text, 'must not contain white space');
  }
}

function validateHostAliases(errors: FieldErrors, aliases: readonly HostAlias[], path: string): void {
  for (const [index, { ip = '', hostnames = [] }] of aliases.entries()) {
    const at = `${path}[${index}]`;
    if (isIP(ip) === 0) errors.invalid(`${at}.ip`, ip, 'must be an IP address');
    for (const [nameIndex, name] of hostnames.entries()) {
      errors.invalidAll(`${at}.hostnames[${nameIndex}]`, name, dns1123SubdomainErrors(name));
    }
  }
}

/** Returns every validation error of the pod's names and DNS settings. */
export function validateNetwork(errors: FieldErrors, spec: PodSpec, limits: DnsLimits): void {
  const { hostname = '', subdomain = '', dnsConfig } = spec;
  if (hostname !== '') errors.invalidAll('spec.hostname', hostname, dns1123LabelErrors(hostname));
  if (subdomain !== '') errors.invalidAll('spec.subdomain', subdomain, dns1123LabelErrors(subdomain));
  if ((spec.dnsPolicy ?? '') === '') errors.required('spec.dnsPolicy');
  if (spec.dnsPolicy === 'None') {
    if (dnsConfig === undefined) errors.required('spec.dnsConfig', 'dnsPolicy None needs it');
    else if ((dnsConfig.nameservers ?? []).length === 0) {
      errors.required('spec.dnsConfig.nameservers', 'dnsPolicy None needs at least one');
    }
  }
  if (dnsConfig !== undefined) validateDnsConfig(errors, dnsConfig, limits, 'spec.dnsConfig');
  validateHostAliases(errors, spec.hostAliases ?? [], 'spec.hostAliases');
}
