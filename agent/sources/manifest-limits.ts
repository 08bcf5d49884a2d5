/** How much one manifest may ask of the agent itself. Pure.
 *  Deviation: where the agent reads files there is no API server whose size limits would hold a pod of
 *  thousands of containers back; each container costs calls, log files and a place in every status. */
import type { FieldError } from '#api/meta/field-error.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';

/** Far above what pods have, far below what would hold up the others. */
const MOST_CONTAINERS = 500;
const MOST_VOLUMES = 2000;
/** Of one object; more than anyone reads at once. */
const MOST_ERRORS = 100;

/** Lists of the pod that are too long. */
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

/** The first errors, and how many are left out: they are kept, logged and sent to clients. */
export function boundErrors(errors: readonly FieldError[]): readonly FieldError[] {
  if (errors.length <= MOST_ERRORS) return errors;
  const detail = `and ${errors.length - MOST_ERRORS} more faults`;
  return [...errors.slice(0, MOST_ERRORS), { kind: 'FieldValueInvalid', field: '', detail }];
}
