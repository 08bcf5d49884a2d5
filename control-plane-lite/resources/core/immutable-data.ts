/** Immutable ConfigMaps and Secrets (`immutable: true`). Source: ConfigMaps and Secrets, document 3 §2.1 and
 *  §2.2. */
import { createBoundedFaults, type Faults } from '#api/schema/validation/faults.ts';
import { sameContent } from '../content-diff.ts';
import type { ApiObject } from '../contract.ts';

const REASON = 'field is immutable when `immutable` is set';

/** Faults of a change to a frozen object; it stays frozen. */
export function frozenFaults(object: ApiObject, old: ApiObject, members: readonly string[]): Faults {
  const faults = createBoundedFaults();
  if (old['immutable'] !== true) return faults;
  if (object['immutable'] !== true) faults.forbidden('immutable', REASON);
  for (const member of members) {
    if (!sameContent(object[member] ?? {}, old[member] ?? {})) faults.forbidden(member, REASON);
  }
  return faults;
}
