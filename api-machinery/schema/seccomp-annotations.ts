/** Seccomp profiles in their two forms: fields of the security context, and the annotations that were there before them.
 *  Pure. Source: upstream's seccomp proposal (version skew), release 1.24. */
import type { Vocabulary } from '../vocabulary.ts';
import type { Pod, SeccompProfile } from './gen/core-v1.ts';

type Words = Pick<Vocabulary, 'seccompPod' | 'seccompContainerPrefix'>;

const LOCALHOST = 'localhost/';
const RUNTIME_DEFAULT: readonly string[] = ['runtime/default', 'docker/default'];

export const isSeccompAnnotation = (key: string, words: Words): boolean =>
  key === words.seccompPod || key.startsWith(words.seccompContainerPrefix);

/** The field that means the same; `undefined` if the annotation names no profile. */
export function seccompFieldOf(annotation: string): SeccompProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (RUNTIME_DEFAULT.includes(annotation)) return { type: 'RuntimeDefault' };
  const localhostProfile = annotation.startsWith(LOCALHOST) ? annotation.slice(LOCALHOST.length) : '';
  return localhostProfile === '' ? undefined : { type: 'Localhost', localhostProfile };
}

/** The annotation that means the same; `undefined` if the field is none that has one. */
export function seccompAnnotationOf({ type, localhostProfile }: SeccompProfile): string | undefined {
  if (type === 'Unconfined') return 'unconfined';
  if (type === 'RuntimeDefault') return 'runtime/default';
  return localhostProfile === undefined ? undefined : `${LOCALHOST}${localhostProfile}`;
}

/** Which part of the profile differs between the two forms; `undefined`: they mean the same. */
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

/** The pod and each of its containers. */
export function seccompPlaces({ spec }: Pod, words: Words): readonly SeccompPlace[] {
  const places: SeccompPlace[] = [
    {
      key: words.seccompPod,
      path: 'spec.securityContext.seccompProfile',
      profile: spec?.securityContext?.seccompProfile,
    },
  ];
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [index, { name, securityContext }] of (spec?.[list] ?? []).entries()) {
      places.push({
        key: `${words.seccompContainerPrefix}${name}`,
        path: `spec.${list}[${index}].securityContext.seccompProfile`,
        profile: securityContext?.seccompProfile,
      });
    }
  }
  return places;
}
