/** A valid pod; each row of the validation tests changes it in one place. */

import type { Pod } from '../../gen/core-v1.ts';
import { VOCABULARIES } from '../../vocabulary.ts';
import { decode } from '../decode.ts';
import { applyDefaults } from '../defaults.ts';
import { type PodValidationOptions, validatePod } from './pod.ts';

export interface PodChanges {
  readonly metadata?: object;
  readonly spec?: object;
  /** Members of the first container. */
  readonly container?: object;
}

/** Returns the pod as in a manifest, with the changes applied. */
export function podWith(changes: PodChanges): Pod {
  const { value } = decode<Pod>('core/v1.Pod', {
    metadata: { name: 'web', namespace: 'default', ...changes.metadata },
    spec: {
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [{ name: 'app', image: 'app:1', ...changes.container }],
      ...changes.spec,
    },
  });
  return applyDefaults('core/v1.Pod', value);
}

/** Returns `FieldValueRequired spec.containers` for each validation error of the changed pod. */
export function errorsOf(
  changes: PodChanges,
  options: Partial<PodValidationOptions> = {},
): readonly string[] {
  const errors = validatePod(podWith(changes), { vocabulary: VOCABULARIES.plat, ...options });
  return errors.map((error) => `${error.kind} ${error.field}`);
}
