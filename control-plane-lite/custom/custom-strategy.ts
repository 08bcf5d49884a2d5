/** Create and update strategy of custom objects. Source: object lifecycle, document 1 §2.1;
 *  apiextensions/v1. */
import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '#api/meta/field-error.ts';
import { methodNotSupported } from '#api/meta/status-errors.ts';
import type {
  ApiObject,
  PartStrategy,
  ResourceInfo,
  Strategy,
  StrategyContext,
} from '../resources/contract.ts';
import { keepAllBut } from '../resources/generic.ts';
import type { CustomTable } from './custom-rows.ts';
import type { CustomSchema } from './schema/custom-schema.ts';
import { EXPRESSIONS_GATE } from './schema/structural-schema.ts';

export interface CustomStrategyOptions {
  readonly info: ResourceInfo;
  readonly schema: CustomSchema;
  readonly row: CustomTable['row'];
  /** The definition is being deleted: nothing new is made. */
  readonly terminating: boolean;
}

const STATUS = 'status';

/** Returns the members whose change increments the generation: all but metadata and a status subresource. */
function purposeOf(object: ApiObject, hasStatus: boolean): Readonly<Record<string, unknown>> {
  const { metadata: _, apiVersion: _a, kind: _k, ...members } = object;
  if (hasStatus) delete members[STATUS];
  return members;
}

type Gates = Pick<StrategyContext, 'gates'>;

const byRules = (
  schema: CustomSchema,
  { gates }: Gates,
  object: ApiObject,
  old?: ApiObject,
): readonly FieldError[] => (gates.has(EXPRESSIONS_GATE) ? schema.validateRules(object, old) : []);

/** Rules are evaluated only on objects that fit the schema. */
function validateAll(
  schema: CustomSchema,
  context: Gates,
  object: ApiObject,
  old: ApiObject | undefined,
): readonly FieldError[] {
  const errors = schema.validate(object);
  return errors.length > 0 ? errors : byRules(schema, context, object, old);
}

export function customStrategy({ info, schema, row, terminating }: CustomStrategyOptions): Strategy {
  const hasStatus = info.subresources.has(STATUS);
  return {
    row,
    unconditionalUpdate: false,
    countsGeneration: true,
    generationChanged: (object, old) =>
      !isDeepStrictEqual(purposeOf(object, hasStatus), purposeOf(old, hasStatus)),
    prepareForCreate(draft) {
      // Also for those who apply, for whom nothing new is to be made either.
      if (terminating) throw methodNotSupported({ group: info.group, name: info.plural }, 'create');
      if (!hasStatus) return;
      delete draft[STATUS];
      // A default of the status is shown from the beginning.
      schema.applyDefaults(draft);
    },
    validate: (object, context, old) => validateAll(schema, context, object, old),
  };
}

/** The parts in which a custom resource may be changed. */
export function customParts(schema: CustomSchema): Readonly<Record<string, PartStrategy>> {
  return {
    [STATUS]: {
      prepareForUpdate: (draft, old) => keepAllBut(draft, old, STATUS),
      validateUpdate(object, old, context) {
        const errors = schema.validate(object, STATUS);
        return errors.length > 0 ? errors : byRules(schema, context, object, old);
      },
    },
  };
}
