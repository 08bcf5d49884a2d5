/** Checks one container against a policy: its user, groups, capabilities and ports. Pure. Source: upstream's
 *  PodSecurityPolicy plugin, release 1.24. */
import type { SELinuxOptions } from '#api/gen/core-v1.ts';
import type { HostPortRange, IDRange } from '#api/gen/policy-v1beta1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type AnyContainer, effective, formatRanges, isInRanges, type PodParts } from './context.ts';
import type { Policy } from './mutate.ts';
import { validateAppArmor, validateContainerSeccomp } from './validate-profiles.ts';

const ALL = '*';

export interface ContainerLook {
  readonly pod: PodParts;
  readonly container: AnyContainer;
  readonly policy: Policy;
  readonly vocabulary: Vocabulary;
}

interface GroupRule {
  readonly rule?: string;
  readonly ranges?: readonly IDRange[];
}

export function validateGroups(
  errors: FieldErrors,
  path: string,
  { rule, ranges = [] }: GroupRule,
  groups: readonly Int64[],
): void {
  if (rule === 'RunAsAny') return;
  if (rule === 'MustRunAs' && groups.length === 0)
    errors.invalid(path, groups, 'unable to validate empty groups against required ranges');
  for (const group of groups) {
    if (isInRanges(group, ranges)) continue;
    errors.invalid(path, groups, `group ${group} must be in the ranges: ${formatRanges(ranges)}`);
  }
}

/** Levels are equal if they have the same categories in any order. */
function isSameLevel(left: string, right: string): boolean {
  if (left === right) return true;
  const [[sensitivity, categories], [otherSensitivity, otherCategories]] = [
    splitLevel(left),
    splitLevel(right),
  ];
  return categories !== undefined && sensitivity === otherSensitivity && categories === otherCategories;
}

function splitLevel(level: string): readonly [string, string | undefined] {
  const at = level.indexOf(':');
  if (at < 0) return [level, undefined];
  return [
    level.slice(0, at),
    level
      .slice(at + 1)
      .split(',')
      .sort()
      .join(','),
  ];
}

export function validateSELinux(
  errors: FieldErrors,
  path: string,
  { spec }: Policy,
  given: SELinuxOptions | undefined,
): void {
  if (spec.seLinux.rule !== 'MustRunAs') return;
  if (given === undefined) {
    errors.required(path);
    return;
  }
  const wanted = spec.seLinux.seLinuxOptions ?? {};
  for (const member of ['level', 'role', 'type', 'user'] as const) {
    const [value = '', own = ''] = [wanted[member], given[member]];
    const isSame = member === 'level' ? isSameLevel(value, own) : value === own;
    if (!isSame) errors.invalid(`${path}.${member}`, own, `must be ${value}`);
  }
}

function validateUser(errors: FieldErrors, path: string, { pod, container, policy }: ContainerLook): void {
  const { rule, ranges = [] } = policy.spec.runAsUser;
  const { securityContext } = pod.spec;
  const user = effective('runAsUser', container.securityContext, securityContext);
  if (rule === 'MustRunAs') {
    if (user === undefined) errors.required(`${path}.runAsUser`);
    else if (!isInRanges(user, ranges))
      errors.invalid(`${path}.runAsUser`, user, `must be in the ranges: ${formatRanges(ranges)}`);
    return;
  }
  if (rule !== 'MustRunAsNonRoot') return;
  const nonRoot = effective('runAsNonRoot', container.securityContext, securityContext);
  if (nonRoot === undefined && user === undefined) errors.required(`${path}.runAsNonRoot`, 'must be true');
  else if (nonRoot === false) errors.invalid(`${path}.runAsNonRoot`, nonRoot, 'must be true');
  else if (user === 0) errors.invalid(`${path}.runAsUser`, user, 'running with the root UID is forbidden');
}

function validateCapabilities(errors: FieldErrors, path: string, { container, policy }: ContainerLook): void {
  const {
    allowedCapabilities = [],
    defaultAddCapabilities = [],
    requiredDropCapabilities = [],
  } = policy.spec;
  const given = container.securityContext?.capabilities;
  if (given === undefined) {
    if (defaultAddCapabilities.length > 0 || requiredDropCapabilities.length > 0)
      errors.invalid(path, null, 'required capabilities are not set on the securityContext');
    return;
  }
  if (allowedCapabilities.includes(ALL)) return;
  for (const name of given.add ?? []) {
    if (!defaultAddCapabilities.includes(name) && !allowedCapabilities.includes(name))
      errors.invalid(`${path}.add`, name, 'capability may not be added');
  }
  for (const name of requiredDropCapabilities) {
    if (given.drop?.includes(name) === true) continue;
    errors.invalid(`${path}.drop`, given.drop ?? [], `${name} is required to be dropped but was not found`);
  }
}

const formatPorts = (ranges: readonly HostPortRange[]): string =>
  ranges.map(({ min, max }) => (min === max ? `${min}` : `${min}-${max}`)).join(',');

function validatePorts(errors: FieldErrors, path: string, { container, policy }: ContainerLook): void {
  const { hostPorts = [] } = policy.spec;
  for (const { hostPort = 0 } of container.ports ?? []) {
    if (hostPort === 0 || isInRanges(hostPort, hostPorts)) continue;
    const detail = `Host port ${hostPort} is not allowed to be used. Allowed ports: [${formatPorts(hostPorts)}]`;
    errors.invalid(`${path}.hostPort`, hostPort, detail);
  }
}

function validateRights(errors: FieldErrors, path: string, { container, policy }: ContainerLook): void {
  const {
    allowPrivilegeEscalation,
    privileged,
    readOnlyRootFilesystem: readOnly,
  } = container.securityContext ?? {};
  const { spec } = policy;
  if (spec.readOnlyRootFilesystem === true && readOnly !== true) {
    const must =
      readOnly === undefined
        ? 'ReadOnlyRootFilesystem may not be nil and must be set to true'
        : 'ReadOnlyRootFilesystem must be set to true';
    errors.invalid(`${path}.readOnlyRootFilesystem`, readOnly ?? null, must);
  }
  if (spec.allowPrivilegeEscalation === false && allowPrivilegeEscalation !== false) {
    const detail = 'Allowing privilege escalation for containers is not allowed';
    errors.invalid(`${path}.allowPrivilegeEscalation`, allowPrivilegeEscalation ?? null, detail);
  }
  if (privileged === true && spec.privileged !== true)
    errors.invalid(`${path}.privileged`, true, 'Privileged containers are not allowed');
}

function validateProcMount(errors: FieldErrors, path: string, { container, policy }: ContainerLook): void {
  const { allowedProcMountTypes = [] } = policy.spec;
  const allowed: readonly string[] = allowedProcMountTypes.length === 0 ? ['Default'] : allowedProcMountTypes;
  const given = container.securityContext?.procMount ?? 'Default';
  if (!allowed.includes(given)) errors.invalid(`${path}.procMount`, given, 'ProcMountType is not allowed');
}

/** @param path of the container */
export function validateContainer(errors: FieldErrors, path: string, look: ContainerLook): void {
  const { pod, container, policy } = look;
  const { securityContext } = pod.spec;
  const at = `${path}.securityContext`;
  validateUser(errors, at, look);
  if (policy.spec.runAsGroup !== undefined) {
    const group = effective('runAsGroup', container.securityContext, securityContext);
    validateGroups(errors, at, policy.spec.runAsGroup, group === undefined ? [] : [group]);
  }
  const seLinux = effective('seLinuxOptions', container.securityContext, securityContext);
  validateSELinux(errors, `${at}.seLinuxOptions`, policy, seLinux);
  validateAppArmor(errors, look);
  validateContainerSeccomp(errors, look);
  validateProcMount(errors, at, look);
  validateCapabilities(errors, `${at}.capabilities`, look);
  validatePorts(errors, path, look);
  validateRights(errors, at, look);
}
