/** Scale mappings of the built-in kinds. */
import type { ApiObject, ObjectSchema } from '../resources/contract.ts';
import { applyScale, scaleOf, validateScale } from '../resources/scale.ts';

/** How to read and set the replicas of a kind's objects. */
export interface ScaleMapping {
  readonly schema: ObjectSchema;
  scaleOf(object: ApiObject): ApiObject;
  errors(scale: ApiObject): ReturnType<typeof import('../resources/scale.ts')['validateScale']>;
  apply(draft: ApiObject, scale: ApiObject): void;
}

export const createScaleMapping = (schema: ObjectSchema): ScaleMapping => ({
  schema,
  scaleOf,
  errors: validateScale,
  apply: applyScale,
});
