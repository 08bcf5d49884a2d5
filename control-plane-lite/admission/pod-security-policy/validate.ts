/** Checks a pod against a policy. Pure. Source: upstream's PodSecurityPolicy plugin, release 1.24. */
import type { FieldError } from '#api/meta/field-error.ts';
import { createFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type PodParts, visitContainers } from './context.ts';
import type { Policy } from './mutate.ts';
import { validateContainer, validateGroups, validateSELinux } from './validate-container.ts';
import { validatePodSeccomp } from './validate-profiles.ts';
import { validateVolumes } from './validate-volumes.ts';

const ALL = '*';

const SAFE_SYSCTLS: ReadonlySet<string> = new Set([
  'kernel.shm_rmid_forced',
  'net.ipv4.ip_local_port_range',
  'net.ipv4.tcp_syncookies',
  'net.ipv4.ping_group_range',
  'net.ipv4.ip_unprivileged_port_start',
]);

const matches = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) =>
    pattern.endsWith(ALL) ? name.startsWith(pattern.slice(0, -1)) : pattern === name,
  );

function validateSysctls(errors: FieldErrors, { spec }: PodParts, policy: Policy): void {
  const { forbiddenSysctls = [], allowedUnsafeSysctls = [] } = policy.spec;
  for (const [index, { name }] of (spec.securityContext?.sysctls ?? []).entries()) {
    const path = `pod.spec.securityContext.sysctls[${index}]`;
    const quoted = JSON.stringify(name);
    if (matches(forbiddenSysctls, name)) errors.forbidden(path, `sysctl ${quoted} is not allowed`);
    else if (!SAFE_SYSCTLS.has(name) && !matches(allowedUnsafeSysctls, name))
      errors.forbidden(path, `unsafe sysctl ${quoted} is not allowed`);
  }
}

const HOST_NAMESPACES = [
  ['hostNetwork', 'Host network'],
  ['hostPID', 'Host PID'],
  ['hostIPC', 'Host IPC'],
] as const;

function validateHost(errors: FieldErrors, { spec }: PodParts, policy: Policy): void {
  for (const [member, what] of HOST_NAMESPACES) {
    if (spec[member] === true && policy.spec[member] !== true)
      errors.invalid(`spec.securityContext.${member}`, true, `${what} is not allowed to be used`);
  }
}

function validateRuntimeClass(errors: FieldErrors, { spec }: PodParts, policy: Policy): void {
  const { runtimeClassName: name } = spec;
  const allowed = policy.spec.runtimeClass?.allowedRuntimeClassNames;
  if (allowed === undefined || name === undefined || allowed.includes(ALL) || allowed.includes(name)) return;
  errors.invalid('spec.runtimeClassName', name, '');
}

/** Returns the reasons why the policy does not allow the pod. */
export function validatePod(pod: PodParts, policy: Policy, vocabulary: Vocabulary): readonly FieldError[] {
  const errors = createFieldErrors();
  const { securityContext: context } = pod.spec;
  const path = 'spec.securityContext';
  const fsGroups = context?.fsGroup === undefined ? [] : [context.fsGroup];
  validateGroups(errors, `${path}.fsGroup`, policy.spec.fsGroup, fsGroups);
  validateGroups(
    errors,
    `${path}.supplementalGroups`,
    policy.spec.supplementalGroups,
    context?.supplementalGroups ?? [],
  );
  validatePodSeccomp(errors, pod, policy, vocabulary);
  validateSELinux(errors, `${path}.seLinuxOptions`, policy, context?.seLinuxOptions);
  validateHost(errors, pod, policy);
  validateSysctls(errors, pod, policy);
  validateVolumes(errors, pod.spec, policy, vocabulary);
  validateRuntimeClass(errors, pod, policy);
  visitContainers(pod.spec, (container, at) => {
    validateContainer(errors, at, { pod, container, policy, vocabulary });
  });
  return errors.all;
}
