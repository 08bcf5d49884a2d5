/** Validation of a service's addresses and IP families, and of their updates. Source: upstream's service
 *  validation, release 1.24. */

import type { ServiceSpec } from '#api/gen/core-v1.ts';
import { IP_ERROR, type IpFamily, ipFamilyOf } from '#api/meta/ip.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { HEADLESS, isExternalName, isHeadless } from './service-needs.ts';

const IPS = 'spec.clusterIPs';
const FAMILIES = 'spec.ipFamilies';
const POLICY = 'spec.ipFamilyPolicy';
const ONCE = 'may not change once set';

/** Reports address fields, which type ExternalName does not allow. */
function forbidAll(errors: FieldErrors, spec: ServiceSpec): void {
  const reason = 'may not be set for ExternalName services';
  if ((spec.clusterIPs ?? []).length > 0 || (spec.clusterIP ?? '') !== '') errors.forbidden(IPS, reason);
  if ((spec.ipFamilies ?? []).length > 0) errors.forbidden(FAMILIES, reason);
  if (spec.ipFamilyPolicy !== undefined) errors.forbidden(POLICY, reason);
}

function validateSpellings(errors: FieldErrors, { clusterIP = '', clusterIPs = [] }: ServiceSpec): void {
  if (clusterIP === '') {
    if (clusterIPs.length > 0)
      errors.invalid(IPS, clusterIPs, 'must be empty when `clusterIP` is not specified');
  } else if (clusterIPs.length === 0) errors.required(IPS);
  else if (clusterIPs[0] !== clusterIP) {
    errors.invalid(IPS, clusterIPs, 'first value must match `clusterIP`');
  }
}

/** Validates that all values are addresses, or the only one is `None`. Reports whether they are. */
function validateEach(errors: FieldErrors, addresses: readonly string[]): boolean {
  let valid = true;
  for (const [index, address] of addresses.entries()) {
    if (index === 0 && address === HEADLESS) {
      if (addresses.length === 1) continue;
      errors.invalid(IPS, addresses, "'None' must be the first and only value");
    } else if (ipFamilyOf(address) === undefined) errors.invalid(`${IPS}[${index}]`, address, IP_ERROR);
    else continue;
    valid = false;
  }
  return valid;
}

function validateFamilies(
  errors: FieldErrors,
  { ipFamilies = [], ipFamilyPolicy, clusterIPs = [], selector = {} }: ServiceSpec,
  cluster: readonly IpFamily[],
): void {
  for (const [index, family] of ipFamilies.entries()) {
    if (ipFamilies.indexOf(family) < index) errors.duplicate(`${FAMILIES}[${index}]`, family);
  }
  if (ipFamilyPolicy === 'SingleStack' && (ipFamilies.length > 1 || clusterIPs.length > 1)) {
    const what = ipFamilies.length > 1 ? 'ipFamilies' : 'clusterIPs';
    errors.invalid(
      POLICY,
      ipFamilyPolicy,
      `must be RequireDualStack or PreferDualStack when multiple ${what} are specified`,
    );
  }
  // Headless services without a selector get no defaults: their endpoints are managed externally.
  if (clusterIPs[0] === HEADLESS && Object.keys(selector).length === 0) return;
  for (const [index, family] of ipFamilies.entries()) {
    if (!cluster.includes(family)) {
      errors.invalid(`${FAMILIES}[${index}]`, family, 'not configured on this cluster');
    }
  }
  if (ipFamilyPolicy === 'RequireDualStack' && cluster.length < 2) {
    errors.invalid(POLICY, ipFamilyPolicy, 'this cluster is not configured for dual-stack services');
  }
}

/** Reports every error of the addresses of a service. */
export function validateServiceAddresses(
  errors: FieldErrors,
  spec: ServiceSpec,
  cluster: readonly IpFamily[],
): void {
  if (isExternalName(spec)) return forbidAll(errors, spec);
  const { clusterIPs = [], ipFamilies = [] } = spec;
  validateSpellings(errors, spec);
  if (clusterIPs.length > 2) errors.invalid(IPS, clusterIPs, 'may only hold up to 2 values');
  if (!validateEach(errors, clusterIPs)) return undefined;
  const families = clusterIPs.map(ipFamilyOf);
  if (clusterIPs.length > 1 && new Set(families).size < clusterIPs.length) {
    errors.invalid(IPS, clusterIPs, 'may specify no more than one IP for each IP family');
  }
  validateFamilies(errors, spec, cluster);
  if (isHeadless(spec)) return undefined;
  for (const [index, family] of families.entries()) {
    const wanted = ipFamilies[index];
    if (wanted !== undefined && family !== undefined && family !== wanted) {
      errors.invalid(
        `${IPS}[${index}]`,
        clusterIPs[index],
        `expected an ${wanted} value as indicated by \`ipFamilies[${index}]\``,
      );
    }
  }
  return undefined;
}

/** Validates an update of a list whose first value is immutable and whose second one can be added and removed. */
function validateChange(
  errors: FieldErrors,
  path: string,
  what: string,
  [now, before]: readonly [readonly string[], readonly string[]],
  policy: string | undefined,
): void {
  if (now.length === before.length) {
    const index = now.findIndex((item, at) => item !== before[at]);
    if (index >= 0) errors.invalid(`${path}[${index}]`, now, ONCE);
    return;
  }
  if (before.length === 0) return;
  if (now.length === 0) errors.invalid(`${path}[0]`, now, `primary ${what} can not be unset`);
  else if (now[0] !== before[0]) errors.invalid(`${path}[0]`, now, ONCE);
  if (now.length < before.length && now.length === 1 && policy !== 'SingleStack') {
    errors.invalid(
      POLICY,
      policy ?? null,
      `must be set to 'SingleStack' when releasing the secondary ${what}`,
    );
  }
}

/** Reports every error of an update of a service's addresses. */
export function validateAddressChange(errors: FieldErrors, spec: ServiceSpec, old: ServiceSpec): void {
  if (isExternalName(spec) || isExternalName(old)) return;
  if (isHeadless(spec) && isHeadless(old)) return;
  const policy = spec.ipFamilyPolicy;
  validateChange(errors, IPS, 'clusterIP', [spec.clusterIPs ?? [], old.clusterIPs ?? []], policy);
  validateChange(errors, FAMILIES, 'ipFamily', [spec.ipFamilies ?? [], old.ipFamilies ?? []], policy);
}
