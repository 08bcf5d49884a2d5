/** How the built-in kinds with a number of pods are scaled. */
import type { ObjectSchema } from '../resources/contract.ts';
import { applyScale, scaleOf, validateScale } from '../resources/scale.ts';
import type { ScaleMapping } from './scale.ts';

export const createScaleMapping = (schema: ObjectSchema): ScaleMapping => ({
  schema,
  scaleOf,
  faults: validateScale,
  apply: applyScale,
});
