/** PodSecurityPolicies: served for existing users, removed in 1.25. Source: policy/v1beta1. */

import type { IDRange, PodSecurityPolicy, PodSecurityPolicySpec } from '#api/gen/policy-v1beta1.ts';
import { dns1123SubdomainErrors, parentElementErrors } from '#api/meta/names.ts';
import { jsonFields, parseTypeName } from '#api/schema/registry.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { kindStrategy } from '../kind.ts';

const ALL = '*';
const GROUP_RULES = ['MayRunAs', 'MustRunAs', 'RunAsAny'];
const SYSCTL = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*(?:[./]?\*)?$|^\*$/;
const HIGHEST_PORT = 65_535;

const volumeTypes = (): readonly string[] => [
  ALL,
  // Upstream spells this one differently here.
  ...jsonFields(parseTypeName('core/v1.VolumeSource')).map(({ json }) =>
    json === 'cephfs' ? 'cephFS' : json,
  ),
];

function validateRange(errors: FieldErrors, { min, max }: IDRange, path: string): void {
  errors.nonNegative(`${path}.min`, min);
  errors.nonNegative(`${path}.max`, max);
  if (min > max) errors.invalid(`${path}.min`, min, 'min cannot be greater than max');
}

interface RuleWithRanges {
  readonly rule?: string;
  readonly ranges?: readonly IDRange[];
}

function validateRule(
  errors: FieldErrors,
  options: RuleWithRanges | undefined,
  rules: readonly string[],
  path: string,
): void {
  const { rule = '', ranges = [] } = options ?? {};
  if (!rules.includes(rule)) errors.unsupported(`${path}.rule`, rule, rules);
  for (const [index, range] of ranges.entries()) validateRange(errors, range, `${path}.ranges[${index}]`);
}

function validateCapabilities(errors: FieldErrors, spec: PodSecurityPolicySpec): void {
  const dropped = new Set(spec.requiredDropCapabilities ?? []);
  for (const member of ['defaultAddCapabilities', 'allowedCapabilities'] as const) {
    for (const capability of spec[member] ?? []) {
      if (!dropped.has(capability)) continue;
      const detail = `capability is listed in ${member} and requiredDropCapabilities`;
      errors.invalid(`spec.${member}`, capability, detail);
    }
  }
}

/** Reports whether two sysctl patterns overlap. */
function overlap(left: string, right: string): boolean {
  const covers = (pattern: string, other: string): boolean =>
    pattern.endsWith(ALL) && other.startsWith(pattern.slice(0, -1));
  return left === right || covers(left, right) || covers(right, left);
}

function validateSysctls(errors: FieldErrors, spec: PodSecurityPolicySpec): void {
  const { allowedUnsafeSysctls: allowed = [], forbiddenSysctls: forbidden = [] } = spec;
  const validate = (names: readonly string[], path: string): void => {
    for (const [index, name] of names.entries()) {
      if (!SYSCTL.test(name))
        errors.invalid(`${path}[${index}]`, name, 'must be a sysctl or a pattern of it');
    }
  };
  validate(forbidden, 'spec.forbiddenSysctls');
  validate(allowed, 'spec.allowedUnsafeSysctls');
  for (const [index, name] of allowed.entries()) {
    const conflict = forbidden.find((other) => overlap(name, other));
    if (conflict === undefined) continue;
    errors.invalid(`spec.allowedUnsafeSysctls[${index}]`, name, `sysctl overlaps with ${conflict}`);
  }
}

function validateVolumes(errors: FieldErrors, spec: PodSecurityPolicySpec): void {
  const known = volumeTypes();
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    if (!known.includes(volume)) errors.unsupported(`spec.volumes[${index}]`, volume, known);
  }
  for (const [index, { pathPrefix = '' }] of (spec.allowedHostPaths ?? []).entries()) {
    const path = `spec.allowedHostPaths[${index}].pathPrefix`;
    if (pathPrefix === '') errors.required(path, 'is required');
    errors.invalidAll(path, pathPrefix, parentElementErrors(pathPrefix));
  }
  for (const [index, { driver }] of (spec.allowedFlexVolumes ?? []).entries()) {
    if (driver === '') errors.required(`spec.allowedFlexVolumes[${index}].driver`, 'must specify a driver');
  }
  for (const [index, { name }] of (spec.allowedCSIDrivers ?? []).entries()) {
    const path = `spec.allowedCSIDrivers[${index}].name`;
    if (name === '') errors.required(path);
    else errors.invalidAll(path, name, dns1123SubdomainErrors(name.toLowerCase()));
  }
}

function validateHost(errors: FieldErrors, spec: PodSecurityPolicySpec): void {
  for (const [index, { min, max }] of (spec.hostPorts ?? []).entries()) {
    const path = `spec.hostPorts[${index}]`;
    for (const [member, port] of [
      ['min', min],
      ['max', max],
    ] as const) {
      if (port < 0 || port > HIGHEST_PORT) {
        errors.invalid(`${path}.${member}`, port, `must be between 0 and ${HIGHEST_PORT}, inclusive`);
      }
    }
    if (min > max) errors.invalid(`${path}.min`, min, 'min cannot be greater than max');
  }
  if (spec.defaultAllowPrivilegeEscalation === true && spec.allowPrivilegeEscalation === false) {
    errors.invalid(
      'spec.defaultAllowPrivilegeEscalation',
      true,
      'cannot be true without allowPrivilegeEscalation being true',
    );
  }
}

function validateRuntimeClass(errors: FieldErrors, spec: PodSecurityPolicySpec): void {
  if (spec.runtimeClass === undefined) return;
  const { allowedRuntimeClassNames: allowed, defaultRuntimeClassName: chosen } = spec.runtimeClass;
  const path = 'spec.runtimeClass';
  for (const [index, name] of allowed.entries()) {
    const at = `${path}.allowedRuntimeClassNames[${index}]`;
    if (name !== ALL) errors.invalidAll(at, name, dns1123SubdomainErrors(name));
    else if (allowed.length > 1) errors.invalid(at, name, 'if * is present, must not specify others');
    if (allowed.indexOf(name) < index) errors.duplicate(at, name);
  }
  if (chosen === undefined) return;
  errors.invalidAll(`${path}.defaultRuntimeClassName`, chosen, dns1123SubdomainErrors(chosen));
  if (!allowed.includes(ALL) && !allowed.includes(chosen)) {
    errors.required(`${path}.allowedRuntimeClassNames`, `default ${JSON.stringify(chosen)} must be present`);
  }
}

export const podSecurityPolicy: KindEntry = {
  strategy: kindStrategy<PodSecurityPolicy>({
    countsGeneration: false,
    validate(errors, { spec }) {
      if (spec === undefined) return errors.required('spec');
      validateRule(errors, spec.runAsUser, ['MustRunAs', 'MustRunAsNonRoot', 'RunAsAny'], 'spec.runAsUser');
      if (spec.runAsGroup !== undefined)
        validateRule(errors, spec.runAsGroup, GROUP_RULES, 'spec.runAsGroup');
      validateRule(errors, spec.seLinux, ['MustRunAs', 'RunAsAny'], 'spec.seLinux');
      validateRule(errors, spec.supplementalGroups, GROUP_RULES, 'spec.supplementalGroups');
      validateRule(errors, spec.fsGroup, GROUP_RULES, 'spec.fsGroup');
      validateVolumes(errors, spec);
      validateCapabilities(errors, spec);
      validateHost(errors, spec);
      validateSysctls(errors, spec);
      validateRuntimeClass(errors, spec);
      return undefined;
    },
    row: ({ metadata, spec }) => [
      metadata?.name ?? '',
      String(spec?.privileged ?? false),
      (spec?.allowedCapabilities ?? []).join(','),
      spec?.seLinux.rule ?? '',
      spec?.runAsUser.rule ?? '',
      spec?.fsGroup.rule ?? '',
      spec?.supplementalGroups.rule ?? '',
      String(spec?.readOnlyRootFilesystem ?? false),
      (spec?.volumes ?? []).join(','),
    ],
  }),
};
