/** Hostname and domain of a pod. Pure.
 *  Source: upstream's DNS for pods; sethostname(2) for the kernel's limit of 64 bytes. */

import type { Pod } from '#api/gen/core-v1.ts';
import { trimEnd } from '#api/kit/trim-end.ts';
import { dns1123LabelErrors } from '#api/meta/names.ts';

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
