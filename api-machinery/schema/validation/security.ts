/** Validation of security contexts of pods and containers. Windows options are ignored: this is an agent for
 *  Linux. */

import type {
  Capabilities,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
} from '../../gen/core-v1.ts';
import type { Int64 } from '../../kit/int64.ts';
import { parentElementErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';

const MAX_ID = 2 ** 31 - 1;
const SYSCTL = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*$/;
const SYSCTL_MAX = 253;
const IPC_SYSCTLS = ['kernel.shm', 'kernel.msg', 'kernel.sem', 'fs.mqueue.'];

/** Validates a user or group ID by the range of the kernel and the runtime. */
const isId = (id: Int64): boolean => id >= 0 && id <= MAX_ID;

function validateId(errors: FieldErrors, id: Int64 | undefined, path: string): void {
  if (id !== undefined && !isId(id)) {
    errors.invalid(path, id, `must be between 0 and ${MAX_ID}, inclusive`);
  }
}

/** Validates a path below a directory of the node: relative, without `..`. */
function localPathErrors(path: string): readonly string[] {
  return path.startsWith('/') ? ['must be a relative path'] : parentElementErrors(path);
}

function validateSeccomp(errors: FieldErrors, profile: SeccompProfile | undefined, path: string): void {
  if (profile === undefined) return;
  const { localhostProfile } = profile;
  if (profile.type === 'Localhost') {
    // An empty path would be the directory of all profiles.
    if ((localhostProfile ?? '') === '')
      errors.required(`${path}.localhostProfile`, 'type Localhost needs it');
    else
      errors.invalidAll(
        `${path}.localhostProfile`,
        localhostProfile,
        localPathErrors(localhostProfile ?? ''),
      );
  } else if (localhostProfile !== undefined) {
    errors.invalid(`${path}.localhostProfile`, localhostProfile, 'may be set for type Localhost only');
  }
}

const isIpcSysctl = (name: string): boolean => IPC_SYSCTLS.some((prefix) => name.startsWith(prefix));

function validateSysctls(errors: FieldErrors, sysctls: readonly Sysctl[], spec: PodSpec, path: string): void {
  if (sysctls.length === 0) return;
  const names = new Set<string>();
  for (const [index, { name: written }] of sysctls.entries()) {
    const at = `${path}[${index}].name`;
    if (written === '') {
      errors.required(at);
      continue;
    }
    if (written.length > SYSCTL_MAX || !SYSCTL.test(written)) {
      errors.invalid(
        at,
        written,
        `must be at most ${SYSCTL_MAX} characters of a kernel parameter's name, such as 'net.core.somaxconn'`,
      );
    }
    const name = normalizeSysctl(written);
    if (names.has(name)) errors.duplicate(at, written);
    names.add(name);
    if (name.startsWith('net.') && spec.hostNetwork === true) {
      errors.invalid(at, written, 'must not be set in a pod with hostNetwork');
    }
    if (isIpcSysctl(name) && spec.hostIPC === true) {
      errors.invalid(at, written, 'must not be set in a pod with hostIPC');
    }
  }
}

/** `net/ipv4/conf` and `net.ipv4.conf` are the same parameter: the first separator decides the notation. */
function normalizeSysctl(name: string): string {
  const slash = name.indexOf('/');
  const dot = name.indexOf('.');
  if (slash < 0 || (dot >= 0 && dot < slash)) return name;
  return name.replaceAll(/[./]/g, (separator) => (separator === '/' ? '.' : '/'));
}

/** Returns every validation error of a pod's security context. */
export function validatePodSecurity(
  errors: FieldErrors,
  context: PodSecurityContext,
  spec: PodSpec,
  path: string,
): void {
  for (const member of ['runAsUser', 'runAsGroup', 'fsGroup'] as const) {
    validateId(errors, context[member], `${path}.${member}`);
  }
  for (const [index, group] of (context.supplementalGroups ?? []).entries()) {
    if (!isId(group)) validateId(errors, group, `${path}.supplementalGroups[${index}]`);
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    errors.invalid(
      'spec.shareProcessNamespace',
      true,
      'shareProcessNamespace and hostPID must not both be set',
    );
  }
  validateSysctls(errors, context.sysctls ?? [], spec, `${path}.sysctls`);
  validateSeccomp(errors, context.seccompProfile, `${path}.seccompProfile`);
}

const CAPABILITY = /^(?:CAP_)?[A-Za-z0-9_]+$/;
const isCapability = (name: string, wanted: string): boolean =>
  name.toUpperCase() === wanted || name.toUpperCase() === `CAP_${wanted}`;

function validateCapabilities(errors: FieldErrors, capabilities: Capabilities, path: string): void {
  for (const side of ['add', 'drop'] as const) {
    for (const [index, name] of (capabilities[side] ?? []).entries()) {
      if (!CAPABILITY.test(name)) {
        errors.invalid(
          `${path}.${side}[${index}]`,
          name,
          "must be a capability's name, such as 'NET_ADMIN', or 'ALL'",
        );
      }
    }
  }
}

/** Returns every validation error of a container's security context. */
export function validateContainerSecurity(errors: FieldErrors, context: SecurityContext, path: string): void {
  validateId(errors, context.runAsUser, `${path}.runAsUser`);
  validateId(errors, context.runAsGroup, `${path}.runAsGroup`);
  validateSeccomp(errors, context.seccompProfile, `${path}.seccompProfile`);
  const { capabilities = {} } = context;
  validateCapabilities(errors, capabilities, `${path}.capabilities`);
  if (context.allowPrivilegeEscalation !== false) return;
  const at = `${path}.allowPrivilegeEscalation`;
  if (context.privileged === true) errors.invalid(at, false, 'must not be false in a privileged container');
  if ((capabilities.add ?? []).some((name) => isCapability(name, 'SYS_ADMIN'))) {
    errors.invalid(at, false, 'must not be false in a container with the capability SYS_ADMIN');
  }
}
