/** Decoder of custom objects in one version of a definition: metadata by the type tables, the rest by the
 *  schema. Everything expensive is built when the first object arrives. */

import { isMutableObject } from '#api/kit/object.ts';
import { finish, finishInTurns, type Steps, type Turns } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { TypeModel } from '#api/schema/type-model.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, DecodedObject, ObjectSchema, SteppedDecoding } from '../../resources/contract.ts';
import { MAX_OBJECT_BYTES } from '../../resources/object-size.ts';
import { compileRules, type RulePlan } from './cel/rules.ts';
import { validateByRules } from './cel/validate.ts';
import { customModel } from './custom-model.ts';
import { type JsonSchema, readSchemaSteps } from './json-schema.ts';
import { readRoot, readRootInSteps } from './read-value.ts';
import { compilePlanSteps, fillDefaults, type SchemaPlan } from './schema-plan.ts';
import { validateValue } from './validate-value.ts';

export interface CustomSchemaOptions {
  readonly apiVersion: string;
  readonly kind: string;
  /** `spec.versions[].schema.openAPIV3Schema` on the wire, always the same; `undefined`: anything goes. Called for the
   *  first object: most definitions of a cluster are never used at one server. */
  readonly schema: () => unknown;
  readonly vocabulary: Vocabulary;
}

export interface CustomSchema extends ObjectSchema {
  /** Every error of an object by the schema; `part`: of this member alone. */
  validate(object: ApiObject, part?: 'status'): readonly FieldError[];
  /** Every error of an object by the rules in expressions. @param old the object before an update */
  validateRules(object: ApiObject, old?: ApiObject): readonly FieldError[];
  /** A stored object as it is by this schema: without what the schema doesn't have, and with its defaults. What is
   *  kept may be shared with the argument. */
  adopt(object: ApiObject): ApiObject;
  /** The same without the defaults, of an object that comes from another version. */
  prune(object: ApiObject): ApiObject;
  /** The same two of a large object, in short steps. */
  adoptSteps(object: ApiObject): Steps<ApiObject>;
  pruneSteps(object: ApiObject): Steps<ApiObject>;
  /** Compiles the schema in turns; nothing else needs time then. */
  readonly prepare: (turns: Turns) => Promise<void>;
}

/** Lets everything be. */
const ANYTHING = { type: 'object' };

export function createCustomSchema(options: CustomSchemaOptions): CustomSchema {
  const { apiVersion, kind, vocabulary } = options;
  let schema: JsonSchema | undefined;
  let plan: SchemaPlan | undefined;
  let model: TypeModel | undefined;
  /** Compiled for the first object; `null`: there are no rules. */
  let rules: RulePlan | null | undefined;

  function* readSteps(): Steps<JsonSchema> {
    const prefix = vocabulary.schemaExtensionPrefix;
    const anything = { ...ANYTHING, [`${prefix}preserve-unknown-fields`]: true };
    schema ??= yield* readSchemaSteps(options.schema() ?? anything, prefix);
    return schema;
  }
  function* planSteps(): Steps<SchemaPlan> {
    plan ??= yield* compilePlanSteps(yield* readSteps());
    return plan;
  }
  const schemaOf = (): JsonSchema => schema ?? finish(readSteps());
  const planOf = (): SchemaPlan => plan ?? finish(planSteps());
  const complete = (value: Record<string, unknown>): ApiObject => {
    if (value['metadata'] === undefined) value['metadata'] = {};
    if (typeof value['apiVersion'] !== 'string') value['apiVersion'] = apiVersion;
    if (typeof value['kind'] !== 'string') value['kind'] = kind;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made complete here
    return value as ApiObject;
  };

  function decode(value: unknown): DecodedObject {
    if (!isMutableObject(value)) {
      const error = { kind: 'FieldValueTypeInvalid', field: '', detail: 'must be an object' } as const;
      return { object: complete({}), errors: [error], unknown: [] };
    }
    const { value: read, errors, unknown } = readRoot(planOf(), value, { vocabulary });
    return { object: complete(read), errors, unknown };
  }

  function* decodeInSteps(value: unknown, { names }: SteppedDecoding): Steps<DecodedObject> {
    if (!isMutableObject(value)) return decode(value);
    const made = yield* planSteps();
    const limits = { vocabulary, names, maxLength: MAX_OBJECT_BYTES };
    const { value: read, errors, unknown } = yield* readRootInSteps(made, value, limits);
    return { object: complete(read), errors, unknown };
  }

  function* readTrusted(object: ApiObject, pruneOnly: boolean): Steps<ApiObject> {
    const made = yield* planSteps();
    const { value } = yield* readRootInSteps(made, object, { vocabulary, trustMeta: true, pruneOnly });
    return complete(value);
  }

  function validate(object: ApiObject, part?: 'status'): readonly FieldError[] {
    if (part === undefined) return validateValue(planOf(), object);
    const status = planOf().members.get(part);
    const value = object[part];
    return status === undefined || value === undefined ? [] : validateValue(status, value, [part]);
  }

  function validateRules(object: ApiObject, old?: ApiObject): readonly FieldError[] {
    rules ??= finish(compileRules(schemaOf())) ?? null;
    return rules === null ? [] : validateByRules(rules, object, old);
  }

  return {
    decode,
    decodeInSteps,
    validate,
    validateRules,
    applyDefaults: (draft) => fillDefaults(planOf(), draft),
    adopt: (object) => complete(readRoot(planOf(), object, { vocabulary, trustMeta: true }).value),
    prune: (object) =>
      complete(readRoot(planOf(), object, { vocabulary, trustMeta: true, pruneOnly: true }).value),
    adoptSteps: (object) => readTrusted(object, false),
    pruneSteps: (object) => readTrusted(object, true),
    async prepare(turns) {
      await finishInTurns(planSteps(), turns);
    },
    describe() {
      const given = options.schema();
      return isMutableObject(given) ? given : undefined;
    },
    get model() {
      model ??= customModel(options.schema() === undefined ? undefined : schemaOf(), vocabulary);
      return model;
    },
  };
}
