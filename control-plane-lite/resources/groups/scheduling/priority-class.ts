/** PriorityClasses. Admission ensures that only one is the default. Source: scheduling/v1. */

import type { PriorityClass } from '#api/gen/scheduling-v1.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, validateImmutable } from '../kind.ts';

/** Above it are only the classes of the system. */
const HIGHEST_USER_PRIORITY = 1_000_000_000;
const SYSTEM_PREFIX = 'system-';

/** Classes that the server creates, with their values. */
export const SYSTEM_PRIORITY_CLASSES: ReadonlyMap<string, number> = new Map([
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
]);

function validateSystemClass(errors: FieldErrors, { metadata, value, globalDefault }: PriorityClass): void {
  const name = metadata?.name ?? '';
  if (SYSTEM_PRIORITY_CLASSES.get(name) === value && globalDefault !== true) return;
  errors.forbidden(
    'metadata.name',
    `priority class names with '${SYSTEM_PREFIX}' prefix are reserved for system use only`,
  );
}

export const priorityClass: KindEntry = {
  strategy: kindStrategy<PriorityClass>({
    countsGeneration: true,
    generationChanged: () => false,
    validate(errors, object) {
      const { metadata, value } = object;
      if (metadata?.name?.startsWith(SYSTEM_PREFIX) === true) validateSystemClass(errors, object);
      else if (value > HIGHEST_USER_PRIORITY) {
        errors.forbidden(
          'value',
          `maximum allowed value of a user defined priority is ${HIGHEST_USER_PRIORITY}`,
        );
      }
    },
    validateUpdate(errors, object, old) {
      if (object.value !== old.value) errors.forbidden('value', 'may not be changed in an update.');
      validateImmutable(errors, object.preemptionPolicy, old.preemptionPolicy, 'preemptionPolicy');
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.value,
      object.globalDefault ?? false,
      ageOf(object, nowMs),
    ],
  }),
};
