/** Validation of schema defaults: the schema itself must accept them, and pruning must not change them. Pure.
 *  Source: apiextensions/v1, validation of defaults. */
import { isDeepStrictEqual } from 'node:util';
import { copyJson } from '#api/codec/copy-json.ts';
import type { Steps } from '#api/kit/steps.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { itemSchema, type JsonSchema } from './json-schema.ts';
import { readValue } from './read-value.ts';
import { compilePlanSteps, fillDefaults, type SchemaPlan } from './schema-plan.ts';
import { validateValue } from './validate-value.ts';

/** All errors of the defaults in a structural schema; some steps for each schema in it. */
export function* validateDefaults(
  fieldErrors: FieldErrors,
  schema: JsonSchema,
  path: string,
  vocabulary: Vocabulary,
): Steps<void> {
  const plan = yield* compilePlanSteps(schema);
  if (plan.fills || schema.default !== undefined)
    yield* visit({ fieldErrors, vocabulary }, schema, plan, path);
}

interface Walk {
  readonly fieldErrors: FieldErrors;
  readonly vocabulary: Vocabulary;
}

/** Schema and plan are of the same value. */
function* visit(walk: Walk, schema: JsonSchema, plan: SchemaPlan | undefined, path: string): Steps<void> {
  yield;
  if (plan === undefined) return;
  if (schema.default !== undefined) checkDefault(walk, schema.default, plan, `${path}.default`);
  if (!plan.fills) return;
  const items = itemSchema(schema);
  if (items !== undefined) yield* visit(walk, items, plan.items, `${path}.items`);
  for (const [name, child] of schema.properties) {
    yield* visit(walk, child, plan.members.get(name), `${path}.properties[${name}]`);
  }
  const { additionalProperties: additional } = schema;
  if (additional !== undefined && typeof additional !== 'boolean') {
    yield* visit(walk, additional, plan.additional, `${path}.additionalProperties`);
  }
}

function checkDefault(
  { fieldErrors, vocabulary }: Walk,
  given: unknown,
  plan: SchemaPlan,
  path: string,
): void {
  const { value, errors, unknown } = readValue(plan, given, { vocabulary, pruneOnly: true });
  if (unknown.length > 0 || !isDeepStrictEqual(value, given)) {
    const names = unknown.map(({ field }) => field).join(', ');
    const list = names === '' ? '' : `: ${names}`;
    fieldErrors.invalid(path, given, `must not have what the schema doesn't know${list}`);
  }
  if (errors.length > 0) {
    fieldErrors.invalid(path, given, `must have valid metadata: ${errors.map(formatFieldError).join(', ')}`);
  }
  const whole = copyJson(given);
  fillDefaults(plan, whole);
  for (const { kind, field, detail, badValue } of validateValue(plan, whole)) {
    const at = field === '' ? path : `${path}${field.startsWith('[') ? '' : '.'}${field}`;
    fieldErrors.add(kind, at, detail, badValue);
  }
}
