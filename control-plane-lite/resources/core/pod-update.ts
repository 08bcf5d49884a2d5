/** Mutable fields of a pod: images, a shorter deadline, more tolerations. Source: upstream's pod update
 *  validation, release 1.24. */

import type { Container, Pod, PodSpec, Toleration } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { isSeccompAnnotation } from '#api/schema/seccomp-annotations.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { changedPaths, sameContent } from '../content-diff.ts';
import type { ApiObject, StrategyContext } from '../contract.ts';
import { typed } from '../view.ts';
import { mayChangeSeccomp } from './pod-seccomp.ts';

const MUTABLE =
  'pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

const MAX_DEADLINE_SECONDS = 2 ** 31 - 1;

/** Annotations that apply to the whole lifetime of the pod. */
export function validateLastingAnnotations(errors: FieldErrors, pod: Pod, old: Pod, words: Vocabulary): void {
  const { configMirror, appArmorContainerPrefix } = words;
  const [now = {}, before = {}] = [pod.metadata?.annotations, old.metadata?.annotations];
  if (now === before) return;
  for (const key of new Set([...Object.keys(now), ...Object.keys(before)])) {
    if (now[key] === before[key]) continue;
    const path = `metadata.annotations[${key}]`;
    if (key.startsWith(appArmorContainerPrefix)) {
      errors.forbidden(path, 'may not remove or update AppArmor annotations');
    }
    const how = now[key] === undefined ? 'remove' : before[key] === undefined ? 'add' : 'update';
    if (isSeccompAnnotation(key, words) && !mayChangeSeccomp(pod, key, now[key], words)) {
      errors.forbidden(path, `may not ${how} seccomp annotations`);
    }
    if (key !== configMirror) continue;
    errors.forbidden(path, `may not ${how} mirror pod annotation`);
  }
}

function validateContainerCount(
  errors: FieldErrors,
  now: readonly Container[] = [],
  before: readonly Container[] = [],
  path: string,
): void {
  if (now.length !== before.length) {
    errors.forbidden(path, 'pod updates may not add or remove containers');
  }
}

function validateDeadline(errors: FieldErrors, now: Int64 | undefined, before: Int64 | undefined): void {
  const path = 'spec.activeDeadlineSeconds';
  if (now === undefined) {
    if (before !== undefined)
      errors.invalid(path, null, 'must not update from a positive integer to nil value');
  } else if (now < 0 || now > MAX_DEADLINE_SECONDS) {
    errors.invalid(path, now, `must be between 0 and ${MAX_DEADLINE_SECONDS}, inclusive`);
  } else if (before !== undefined && before < now) {
    errors.invalid(path, now, 'must be less than or equal to previous value');
  }
}

const withoutSeconds = (toleration: Toleration): object => ({ ...toleration, tolerationSeconds: undefined });

function validateTolerations(
  errors: FieldErrors,
  now: readonly Toleration[] = [],
  before: readonly Toleration[] = [],
): void {
  const kept = before.every((old) =>
    now.some((toleration) => sameContent(withoutSeconds(toleration), withoutSeconds(old))),
  );
  if (!kept) {
    errors.forbidden(
      'spec.tolerations',
      'existing toleration can not be modified except its tolerationSeconds',
    );
  }
}

const withImages = (
  containers: readonly Container[] | undefined,
  before: readonly Container[] | undefined,
): readonly Container[] | undefined =>
  containers?.map((container, index) => {
    const image = before?.[index]?.image;
    return image === undefined ? container : { ...container, image };
  });

/** The new spec with everything that may change put back as it was. */
function munged(now: PodSpec, before: PodSpec): object {
  const graceMayChange =
    now.terminationGracePeriodSeconds === 1 && (before.terminationGracePeriodSeconds ?? 0) < 0;
  return {
    ...now,
    containers: withImages(now.containers, before.containers),
    initContainers: withImages(now.initContainers, before.initContainers),
    activeDeadlineSeconds: before.activeDeadlineSeconds,
    tolerations: before.tolerations,
    terminationGracePeriodSeconds: graceMayChange
      ? before.terminationGracePeriodSeconds
      : now.terminationGracePeriodSeconds,
  };
}

/** Returns every error of an update through the pod itself. */
export function validatePodUpdate(
  object: ApiObject,
  oldObject: ApiObject,
  { vocabulary }: Pick<StrategyContext, 'vocabulary'>,
): readonly FieldError[] {
  const [pod, old] = [typed<Pod>(object), typed<Pod>(oldObject)];
  const errors = createBoundedFieldErrors();
  validateLastingAnnotations(errors, pod, old, vocabulary);
  if (pod.spec !== undefined && pod.spec === old.spec) return errors.all;
  const [now, before] = [pod.spec ?? { containers: [] }, old.spec ?? { containers: [] }];
  validateContainerCount(errors, now.containers, before.containers, 'spec.containers');
  validateContainerCount(errors, now.initContainers, before.initContainers, 'spec.initContainers');
  validateDeadline(errors, now.activeDeadlineSeconds, before.activeDeadlineSeconds);
  validateTolerations(errors, now.tolerations, before.tolerations);
  if (errors.all.length > 0) return errors.all;
  const rest = munged(now, before);
  if (!sameContent(rest, before)) {
    const changed = changedPaths(rest, before, 'spec').join(', ');
    errors.forbidden('spec', `${MUTABLE}\nchanged: ${changed}`);
  }
  return errors.all;
}
