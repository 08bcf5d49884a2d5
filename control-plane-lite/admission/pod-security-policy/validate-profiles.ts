/** Checks the seccomp and AppArmor profiles of a pod against the annotations of a policy. Pure. Source: upstream's
 *  PodSecurityPolicy plugin, release 1.24. */
import { seccompAnnotationOf } from '#api/schema/seccomp-annotations.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type AnyContainer, type PodParts, profileNames } from './context.ts';
import type { Policy } from './mutate.ts';

const ANY = '*';
/** Two names of one profile. */
const RUNTIME_DEFAULTS = ['runtime/default', 'docker/default'];

interface Look {
  readonly pod: PodParts;
  readonly container: AnyContainer;
  readonly policy: Policy;
  readonly vocabulary: Vocabulary;
}

/** Why the profile is not allowed; `undefined`: it is. Without allowed profiles there must be none. */
function seccompError(profile: string, list: string | undefined): string | undefined {
  const allowed = list?.split(',') ?? [];
  if (allowed.includes(ANY)) return undefined;
  if (allowed.length === 0) return profile === '' ? undefined : 'seccomp may not be set';
  const names = RUNTIME_DEFAULTS.includes(profile) ? RUNTIME_DEFAULTS : [profile];
  if (names.some((name) => allowed.includes(name))) return undefined;
  return `${profile} is not an allowed seccomp profile. Valid values are ${list ?? ''}`;
}

function podProfile({ spec, annotations }: PodParts, { seccompPod }: Vocabulary): string {
  const field = spec.securityContext?.seccompProfile;
  const annotation = annotations[seccompPod] ?? '';
  if (annotation !== '' || field === undefined) return annotation;
  return seccompAnnotationOf(field) ?? '';
}

export function validatePodSeccomp(
  errors: FieldErrors,
  pod: PodParts,
  policy: Policy,
  vocabulary: Vocabulary,
): void {
  const list = policy.annotations[profileNames(vocabulary.domain).seccompAllowed];
  const reason = seccompError(podProfile(pod, vocabulary), list);
  if (reason !== undefined) errors.forbidden(`pod.metadata.annotations[${vocabulary.seccompPod}]`, reason);
}

function containerProfile({ pod, container, vocabulary }: Look): string {
  const own = container.securityContext?.seccompProfile;
  if (own !== undefined) return seccompAnnotationOf(own) ?? '';
  const annotation = pod.annotations[`${vocabulary.seccompContainerPrefix}${container.name}`];
  if (annotation !== undefined) return annotation;
  const field = pod.spec.securityContext?.seccompProfile;
  if (field !== undefined) return seccompAnnotationOf(field) ?? '';
  return pod.annotations[vocabulary.seccompPod] ?? '';
}

export function validateContainerSeccomp(errors: FieldErrors, look: Look): void {
  const { domain, seccompContainerPrefix } = look.vocabulary;
  const list = look.policy.annotations[profileNames(domain).seccompAllowed];
  const reason = seccompError(containerProfile(look), list);
  const key = `${seccompContainerPrefix}${look.container.name}`;
  if (reason !== undefined) errors.forbidden(`pod.metadata.annotations[${key}]`, reason);
}

export function validateAppArmor(errors: FieldErrors, { pod, container, policy, vocabulary }: Look): void {
  const list = policy.annotations[profileNames(vocabulary.domain).appArmorAllowed];
  if (list === undefined) return;
  const key = `${vocabulary.appArmorContainerPrefix}${container.name}`;
  const profile = pod.annotations[key] ?? '';
  const path = `pod.metadata.annotations[${key}]`;
  if (profile === '') errors.forbidden(path, 'AppArmor profile must be set');
  else if (!list.split(',').includes(profile))
    errors.forbidden(path, `${profile} is not an allowed profile. Allowed values: ${JSON.stringify(list)}`);
}
