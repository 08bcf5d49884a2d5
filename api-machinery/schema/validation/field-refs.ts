/** Validation of references from env and volumes to fields of the pod and to container resources. */

import type { ObjectFieldSelector, ResourceFieldSelector } from '../../gen/core-v1.ts';
import { qualifiedNameErrors } from '../../meta/names.ts';
import { canonicalizeQuantity, isQuantity } from '../../meta/quantity.ts';
import type { FieldErrors } from './field-errors.ts';

/** Fields that an environment variable may refer to. */
export const ENV_FIELD_PATHS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.podIP',
  'status.podIPs',
];
/** Fields that a file of a downward API volume may refer to. */
export const VOLUME_FIELD_PATHS: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
];

const RESOURCES: readonly string[] = ['limits', 'requests'].flatMap((side) =>
  ['cpu', 'memory', 'ephemeral-storage'].map((name) => `${side}.${name}`),
);
const HUGE_PAGES = /^(?:limits|requests)\.hugepages-./;
const CPU_DIVISORS = ['0', '1m', '1'];
const BYTE_DIVISORS = [
  '0',
  '1',
  '1k',
  '1M',
  '1G',
  '1T',
  '1P',
  '1E',
  '1Ki',
  '1Mi',
  '1Gi',
  '1Ti',
  '1Pi',
  '1Ei',
];
const SUBSCRIPT = /^(metadata\.(?:labels|annotations))\['([^']*)'\]$/;

/** Validates a `fieldRef`: a supported field, or one label or annotation by key. */
export function validateFieldRef(
  errors: FieldErrors,
  ref: ObjectFieldSelector,
  supported: readonly string[],
  path: string,
): void {
  const { apiVersion = '', fieldPath } = ref;
  if (apiVersion !== '' && apiVersion !== 'v1') errors.unsupported(`${path}.apiVersion`, apiVersion, ['v1']);
  if (fieldPath === '') return errors.required(`${path}.fieldPath`);
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (map !== undefined && key !== undefined) {
    const name = map.endsWith('annotations') ? key.toLowerCase() : key;
    return errors.invalidAll(`${path}.fieldPath`, fieldPath, qualifiedNameErrors(name));
  }
  if (supported.includes(fieldPath)) return undefined;
  const words = [...supported, "metadata.labels['<key>']", "metadata.annotations['<key>']"];
  return errors.unsupported(`${path}.fieldPath`, fieldPath, [...new Set(words)]);
}

/** Validates a `resourceFieldRef`: a supported resource and a divisor that fits it. */
export function validateResourceFieldRef(
  errors: FieldErrors,
  ref: ResourceFieldSelector,
  path: string,
): void {
  const { resource, divisor } = ref;
  if (resource === '') return errors.required(`${path}.resource`);
  if (!RESOURCES.includes(resource) && !HUGE_PAGES.test(resource)) {
    return errors.unsupported(`${path}.resource`, resource, [
      ...RESOURCES,
      'limits.hugepages-<size>',
      'requests.hugepages-<size>',
    ]);
  }
  if (divisor === undefined || !isQuantity(divisor)) return undefined;
  const allowed = resource.endsWith('.cpu') ? CPU_DIVISORS : BYTE_DIVISORS;
  if (allowed.includes(divisor) || allowed.includes(canonicalizeQuantity(divisor))) return undefined;
  return errors.unsupported(`${path}.divisor`, divisor, allowed.slice(1));
}
