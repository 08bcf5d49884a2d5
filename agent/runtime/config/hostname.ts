/** The host name of a pod and the domain it stands in. Pure.
 *  Source: upstream's DNS for pods; sethostname(2) for the 64 bytes of the kernel. */
import { trimEnd } from '#api/kit/trim-end.ts';
import { dns1123LabelFaults } from '#api/meta/names.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

export interface PodHostname {
  readonly kind: 'ok';
  /** Short name, at most 63 characters. */
  readonly hostname: string;
  /** `<subdomain>.<namespace>.svc.<cluster domain>`, empty without a subdomain. */
  readonly domain: string;
  /** What the kernel is told: the short name, or the whole one with setHostnameAsFQDN. */
  readonly kernelHostname: string;
}

export interface HostnameError {
  readonly kind: 'error';
  readonly message: string;
}

const LONGEST_LABEL = 63;
const LONGEST_KERNEL_NAME = 64;

/** The pod's names, or why it can't have them: a bad hostname or subdomain, or a FQDN beyond 64 characters. */
export function podHostname(pod: Pod, clusterDomain: string): PodHostname | HostnameError {
  const { hostname: wanted = '', subdomain = '', setHostnameAsFQDN = false } = pod.spec ?? {};
  for (const [field, name] of [
    ['hostname', wanted],
    ['subdomain', subdomain],
  ] as const) {
    const faults = name === '' ? [] : dns1123LabelFaults(name);
    if (faults[0] !== undefined) {
      return {
        kind: 'error',
        message: `spec.${field} ${JSON.stringify(name)} is no DNS label: ${faults[0]}`,
      };
    }
  }
  const hostname = truncateHostname(wanted === '' ? (pod.metadata?.name ?? '') : wanted);
  if (hostname === '') return { kind: 'error', message: 'pod has no name to make a hostname of' };
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

/** Cuts to 63 characters, and what may not end a label with them. */
const truncateHostname = (name: string): string =>
  name.length <= LONGEST_LABEL ? name : trimEnd(name.slice(0, LONGEST_LABEL), '-.');
