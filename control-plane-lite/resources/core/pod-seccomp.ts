/** Synchronizes the two forms of a pod's seccomp profiles: annotations are copied to fields before admission
 *  evaluates the pod, and annotations cannot be changed later. Pure. Source: upstream's pod strategy, release
 *  1.24; decision 0075. */

import type { Pod } from '#api/gen/core-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import {
  hasSeccompProfile,
  isSeccompAnnotation,
  seccompAnnotationOf,
  seccompDifference,
  seccompFieldOf,
  seccompPlaces,
} from '#api/schema/seccomp-annotations.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { type Members, membersOf, typed } from '../view.ts';

type SeccompNames = Pick<Vocabulary, 'seccompPod' | 'seccompContainerPrefix'>;

/** Returns the context with the profile of the annotation, if it has no profile. */
function withProfile(holder: Members, annotation: string | undefined): Members {
  const context = isMutableObject(holder['securityContext']) ? holder['securityContext'] : {};
  if (annotation === undefined || context['seccompProfile'] !== undefined) return holder;
  const seccompProfile = seccompFieldOf(annotation);
  return seccompProfile === undefined
    ? holder
    : { ...holder, securityContext: { ...context, seccompProfile } };
}

/** Sets the seccomp fields of containers that only have an annotation. */
export function fillSeccompFields(
  containers: readonly unknown[],
  annotations: Readonly<Record<string, string>>,
  { seccompContainerPrefix }: SeccompNames,
): readonly unknown[] {
  return containers.map((container) =>
    isMutableObject(container)
      ? withProfile(container, annotations[`${seccompContainerPrefix}${String(container['name'])}`])
      : container,
  );
}

/** Both forms of every profile, where a new pod has one. */
export function syncSeccomp(draft: ApiObject, names: SeccompNames): void {
  const annotations = draft.metadata.annotations ?? {};
  if (Object.keys(annotations).some((key) => isSeccompAnnotation(key, names))) {
    const spec = { ...withProfile(membersOf(draft, 'spec'), annotations[names.seccompPod]) };
    for (const list of ['initContainers', 'containers'] as const) {
      const containers = spec[list];
      if (Array.isArray(containers)) spec[list] = fillSeccompFields(containers, annotations, names);
    }
    draft['spec'] = spec;
  }
  annotateSeccomp(draft, names);
}

/** Adds the annotations of fields that have none: agents of earlier releases read only these, and a client that puts
 *  the pod without them means no change. */
export function annotateSeccomp(draft: ApiObject, names: SeccompNames): void {
  if (!hasSeccompProfile(typed<Pod>(draft))) return;
  const annotations = draft.metadata.annotations ?? {};
  const missing = seccompPlaces(typed<Pod>(draft), names).flatMap(({ key, profile }) => {
    const text = profile === undefined ? undefined : seccompAnnotationOf(profile);
    return text === undefined || annotations[key] !== undefined ? [] : [[key, text] as const];
  });
  if (missing.length > 0) draft.metadata.annotations = { ...annotations, ...Object.fromEntries(missing) };
}

/** Returns the errors of a new pod whose annotations contradict its fields. */
export function seccompConflicts(pod: Pod, names: SeccompNames): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const annotations = pod.metadata?.annotations ?? {};
  for (const { key, path, profile } of seccompPlaces(pod, names)) {
    const annotation = annotations[key];
    if (annotation === undefined || profile === undefined) continue;
    const member = seccompDifference(annotation, profile);
    if (member === undefined) continue;
    const what = member === 'type' ? 'type' : 'profile';
    errors.forbidden(`${path}.${member}`, `seccomp ${what} in annotation and field must match`);
  }
  return errors.all;
}

/** Reports whether changed annotations still match the fields. */
export function mayChangeSeccomp(
  pod: Pod,
  key: string,
  annotation: string | undefined,
  names: SeccompNames,
): boolean {
  const profile = seccompPlaces(pod, names).find((place) => place.key === key)?.profile;
  return (
    profile !== undefined && annotation !== undefined && seccompDifference(annotation, profile) === undefined
  );
}
