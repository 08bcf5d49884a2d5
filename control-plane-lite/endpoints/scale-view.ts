/** Scale of an object as admission sees it. Pure. */
import { invalid } from '#api/meta/status-errors.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { AdmissionView } from '../verbs/contract.ts';
import type { ScaleMapping } from './scale-mapping.ts';

/** @throws StatusError Invalid */
export function checkScale(mapping: ScaleMapping, scale: ApiObject, name: string): void {
  const errors = mapping.errors(scale);
  if (errors.length > 0) throw invalid({ group: 'autoscaling', name: 'Scale' }, name, errors);
}

/** Admission sees the Scale, not the scaled object. */
export const scaleView = (mapping: ScaleMapping): AdmissionView => ({
  schema: mapping.schema,
  see: (object) => mapping.scaleOf(object),
  put(draft, scale) {
    checkScale(mapping, scale, draft.metadata.name ?? '');
    mapping.apply(draft, scale);
  },
});
