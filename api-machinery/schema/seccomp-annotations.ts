/** Seccomp profiles in their two forms: fields of the security context, and the older annotations.
 *  Pure. Source: upstream's seccomp proposal (version skew), release 1.24. */

import type { Pod, SeccompProfile } from '../gen/core-v1.ts';
import type { Vocabulary } from '../vocabulary.ts';

type SeccompNames = Pick<Vocabulary, 'seccompPod' | 'seccompContainerPrefix'>;

const LOCALHOST = 'localhost/';
const RUNTIME_DEFAULT: readonly string[] = ['runtime/default', 'docker/default'];

export const isSeccompAnnotation = (key: string, names: SeccompNames): boolean =>
  key === names.seccompPod || key.startsWith(names.seccompContainerPrefix);

/** Returns the equivalent field; `undefined` if the annotation does not name a profile. */
export function seccompFieldOf(annotation: string): SeccompProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (RUNTIME_DEFAULT.includes(annotation)) return { type: 'RuntimeDefault' };
  const localhostProfile = annotation.startsWith(LOCALHOST) ? annotation.slice(LOCALHOST.length) : '';
  return localhostProfile === '' ? undefined : { type: 'Localhost', localhostProfile };
}

/** Returns the equivalent annotation; `undefined` if the field has none. */
export function seccompAnnotationOf({ type, localhostProfile }: SeccompProfile): string | undefined {
  if (type === 'Unconfined') return 'unconfined';
  if (type === 'RuntimeDefault') return 'runtime/default';
  return localhostProfile === undefined ? undefined : `${LOCALHOST}${localhostProfile}`;
}

/** Returns the part of the profile that differs between the two forms; `undefined` if they are equivalent. */
export function seccompDifference(
  annotation: string,
  { type, localhostProfile }: SeccompProfile,
): 'type' | 'localhostProfile' | undefined {
  const said = seccompFieldOf(annotation);
  if (type === 'Localhost' && annotation.startsWith(LOCALHOST))
    return said?.localhostProfile === localhostProfile ? undefined : 'localhostProfile';
  return said?.type === type ? undefined : 'type';
}

/** A place in a pod that can have a profile. */
export interface SeccompPlace {
  /** Key of its annotation. */
  readonly key: string;
  /** Path of its field. */
  readonly path: string;
  readonly profile: SeccompProfile | undefined;
}

/** Whether any place in the pod has a profile. Most pods have none, and every change is checked. */
export function hasSeccompProfile({ spec }: Pod): boolean {
  if (spec?.securityContext?.seccompProfile !== undefined) return true;
  for (const list of [spec?.initContainers, spec?.containers, spec?.ephemeralContainers]) {
    if (list === undefined) continue;
    for (const { securityContext } of list) if (securityContext?.seccompProfile !== undefined) return true;
  }
  return false;
}

/** The pod and each of its containers. */
export function seccompPlaces({ spec }: Pod, names: SeccompNames): readonly SeccompPlace[] {
  const places: SeccompPlace[] = [
    {
      key: names.seccompPod,
      path: 'spec.securityContext.seccompProfile',
      profile: spec?.securityContext?.seccompProfile,
    },
  ];
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, { name, securityContext }] of (spec?.[list] ?? []).entries()) {
      places.push({
        key: `${names.seccompContainerPrefix}${name}`,
        path: `spec.${list}[${index}].securityContext.seccompProfile`,
        profile: securityContext?.seccompProfile,
      });
    }
  }
  return places;
}
