/** Validation of annotations that select AppArmor and seccomp profiles. */

import type { Pod } from '../../gen/core-v1.ts';
import { parentElementErrors } from '../../meta/names.ts';
import type { Vocabulary } from '../../vocabulary.ts';
import type { FieldErrors } from './field-errors.ts';

const LOCALHOST = 'localhost/';

function seccompErrors(profile: string): readonly string[] {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return [];
  if (!profile.startsWith(LOCALHOST))
    return ["must be 'runtime/default', 'unconfined' or 'localhost/<path>'"];
  const path = profile.slice(LOCALHOST.length);
  if (path === '') return ["needs a path after 'localhost/'"];
  return path.startsWith('/') ? ['must be a relative path'] : parentElementErrors(path);
}

function appArmorErrors(profile: string): readonly string[] {
  if (['', 'runtime/default', 'unconfined'].includes(profile)) return [];
  return profile.startsWith(LOCALHOST) && profile.length > LOCALHOST.length
    ? []
    : ["must be 'runtime/default', 'unconfined' or 'localhost/<profile>'"];
}

/** Returns every validation error of the profile annotations; those of containers must name one of the pod's. */
export function validateProfileAnnotations(errors: FieldErrors, pod: Pod, vocabulary: Vocabulary): void {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const names = [...containers, ...initContainers, ...ephemeralContainers].map((container) => container.name);
  for (const [key, profile] of Object.entries(pod.metadata?.annotations ?? {})) {
    const path = `metadata.annotations[${key}]`;
    if (key === vocabulary.seccompPod) errors.invalidAll(path, profile, seccompErrors(profile));
    if (key.startsWith(vocabulary.seccompContainerPrefix)) {
      errors.invalidAll(path, profile, seccompErrors(profile));
    }
    if (!key.startsWith(vocabulary.appArmorContainerPrefix)) continue;
    const container = key.slice(vocabulary.appArmorContainerPrefix.length);
    if (!names.includes(container)) errors.invalid(path, container, 'the pod has no container of this name');
    errors.invalidAll(path, profile, appArmorErrors(profile));
  }
}
