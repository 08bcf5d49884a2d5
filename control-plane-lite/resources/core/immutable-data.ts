/** Immutable ConfigMaps and Secrets (`immutable: true`). Source: ConfigMaps and Secrets, document 3 §2.1 and
 *  §2.2. */
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import { sameContent } from '../content-diff.ts';
import type { ApiObject } from '../contract.ts';

const REASON = 'field is immutable when `immutable` is set';

/** Returns the errors of an update of an immutable object. */
export function frozenErrors(object: ApiObject, old: ApiObject, members: readonly string[]): FieldErrors {
  const errors = createBoundedFieldErrors();
  if (old['immutable'] !== true) return errors;
  if (object['immutable'] !== true) errors.forbidden('immutable', REASON);
  for (const member of members) {
    if (!sameContent(object[member] ?? {}, old[member] ?? {})) errors.forbidden(member, REASON);
  }
  return errors;
}
