/** Limits on the resources of the agent that one manifest can demand. Pure.
 *  Deviation: there is no API server whose size limits would reject a pod with thousands of containers in a
 *  file; each container costs calls, log files and status entries. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { MAX_FIELD_ERRORS } from '#api/schema/validation/field-errors.ts';

/** Far above the size of real pods, far below one that would delay others. */
const MOST_CONTAINERS = 500;
const MOST_VOLUMES = 2000;
/** Maximum number of reported errors per object; more than anyone reads. */
const MOST_ERRORS = 100;

/** Returns errors for lists of the pod that are too long. */
export function validatePodSize({ spec }: Pod): readonly FieldError[] {
  const lists = [
    ['spec.containers', spec?.containers, MOST_CONTAINERS],
    ['spec.initContainers', spec?.initContainers, MOST_CONTAINERS],
    ['spec.ephemeralContainers', spec?.ephemeralContainers, MOST_CONTAINERS],
    ['spec.volumes', spec?.volumes, MOST_VOLUMES],
  ] as const;
  return lists.flatMap(([field, { length } = [], most]): FieldError[] =>
    length <= most
      ? []
      : [{ kind: 'FieldValueTooMany', field, badValue: length, detail: `must have at most ${most} items` }],
  );
}

/** Returns the first errors and the number of omitted ones: errors are stored, logged and sent to clients.
 *  Validation ends with the `MAX_FIELD_ERRORS`th error, so there may be more. */
export function boundErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MOST_ERRORS) return errors;
  const omitted = errors.length - MOST_ERRORS;
  const detail = `and ${errors.length < MAX_FIELD_ERRORS ? '' : 'at least '}${omitted} more errors`;
  return [...errors.slice(0, MOST_ERRORS), { kind: 'FieldValueInvalid', field: '', detail }];
}
