/** Access mode of the feature gate ReadWriteOncePod in volumes and claims. Pure. Source: upstream's validation of
 *  volumes, release 1.24. */
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';

const SINGLE_POD = 'ReadWriteOncePod';
const OTHERS = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce'];

/** Reports an error for the mode while its gate is off, unless the old object has it. */
export function validateSinglePodMode(
  errors: FieldErrors,
  [modes = [], old = []]: readonly [now: readonly string[] | undefined, old: readonly string[] | undefined],
  path: string,
  gates: ReadonlySet<string>,
): void {
  if (gates.has('ReadWriteOncePod') || !modes.includes(SINGLE_POD) || old.includes(SINGLE_POD)) return;
  errors.unsupported(path, SINGLE_POD, OTHERS);
}
