/** Immutable ConfigMaps and Secrets (`immutable: true`). Source: ConfigMaps and Secrets, document 3 §2.1 and
 *  §2.2. */
import { createFaults, type Faults } from '#api/schema/validation/faults.ts';
import { sameContent } from '../content-diff.ts';
import type { ApiObject } from '../contract.ts';

const REASON = 'field is immutable when `immutable` is set';

/** Returns the errors of an update of an immutable object. */
export function frozenFaults(object: ApiObject, old: ApiObject, members: readonly string[]): Faults {
  const faults = createFaults();
  if (old['immutable'] !== true) return faults;
  if (object['immutable'] !== true) faults.forbidden('immutable', REASON);
  for (const member of members) {
    if (!sameContent(object[member] ?? {}, old[member] ?? {})) faults.forbidden(member, REASON);
  }
  return faults;
}
