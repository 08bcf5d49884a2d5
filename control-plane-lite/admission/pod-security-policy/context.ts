/** Security contexts as they are effective: of a pod, and of its containers, which inherit from it. Pure. Source:
 *  upstream's PodSecurityPolicy plugin, release 1.24. */
import type { Container, EphemeralContainer, Pod, SecurityContext } from '#api/gen/core-v1.ts';
import type { IDRange } from '#api/gen/policy-v1beta1.ts';
import type { Int64 } from '#api/kit/int64.ts';

export type PodSpec = NonNullable<Pod['spec']>;
export type PodContext = NonNullable<PodSpec['securityContext']>;
export type AnyContainer = Container | EphemeralContainer;
export type Annotations = Readonly<Record<string, string>>;

/** What a policy reads and writes of a pod. */
export interface PodParts {
  readonly spec: PodSpec;
  readonly annotations: Annotations;
}

/** Members that containers without a value of their own inherit from the pod. */
type Inherited = 'runAsUser' | 'runAsGroup' | 'runAsNonRoot' | 'seLinuxOptions';

/** Returns a container's own value, or else the pod's. */
export const effective = <Member extends Inherited>(
  member: Member,
  own: SecurityContext | undefined,
  pod: PodContext | undefined,
): SecurityContext[Member] | undefined => own?.[member] ?? pod?.[member];

export const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

/** Calls `visit` for every container with its path. */
export function visitContainers(spec: PodSpec, visit: (container: AnyContainer, path: string) => void): void {
  for (const list of CONTAINER_LISTS) {
    for (const [index, container] of (spec[list] ?? []).entries()) visit(container, `spec.${list}[${index}]`);
  }
}

export const isInRanges = (id: Int64, ranges: readonly IDRange[]): boolean =>
  ranges.some(({ min, max }) => id >= min && id <= max);

export const formatRanges = (ranges: readonly IDRange[]): string =>
  `[${ranges.map(({ min, max }) => `{${min} ${max}}`).join(' ')}]`;

/** Annotations of a policy that configure seccomp and AppArmor. */
export interface ProfileNames {
  readonly seccompDefault: string;
  readonly seccompAllowed: string;
  readonly appArmorDefault: string;
  readonly appArmorAllowed: string;
}

/** @param domain of the vocabulary */
export const profileNames = (domain: string): ProfileNames => ({
  seccompDefault: `seccomp.security.alpha.${domain}/defaultProfileName`,
  seccompAllowed: `seccomp.security.alpha.${domain}/allowedProfileNames`,
  appArmorDefault: `apparmor.security.beta.${domain}/defaultProfileName`,
  appArmorAllowed: `apparmor.security.beta.${domain}/allowedProfileNames`,
});
