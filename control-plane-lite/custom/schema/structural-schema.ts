/** Validates and compiles the schemas of a definition. Pure. Source: apiextensions/v1; the rules are in
 *  `schema-rules.ts`, `structural-rules.ts` and `default-rules.ts`. */

import type { CustomResourceDefinition } from '#api/gen/apiextensions-v1.ts';
import type { Steps, Turns } from '#api/kit/steps.ts';
import { finish, finishInTurns } from '#api/kit/steps.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { StrategyContext } from '../../resources/contract.ts';
import { validateRules } from './cel/rules.ts';
import { validateDefaults } from './default-rules.ts';
import { type JsonSchema, readSchemaSteps } from './json-schema.ts';
import { validateRoot, validateSchemaRules } from './schema-rules.ts';
import { validateStructural } from './structural-rules.ts';

/** Gate of rules in the expression language. */
export const EXPRESSIONS_GATE = 'CustomResourceValidationExpressions';

export interface SchemaContext {
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
}

/** Every error of one schema. `hasStatusPart`: the status is checked apart from the rest. */
export const schemaErrors = (
  schema: JsonSchema,
  path: string,
  hasStatusPart: boolean,
  context: SchemaContext,
): readonly FieldError[] => finish(schemaFaultSteps(schema, path, hasStatusPart, context));

/** The same in steps. */
function* schemaFaultSteps(
  schema: JsonSchema,
  path: string,
  hasStatusPart: boolean,
  { vocabulary, gates }: SchemaContext,
): Steps<readonly FieldError[]> {
  const prefix = vocabulary.schemaExtensionPrefix;
  const errors = createFieldErrors();
  validateRoot(errors, schema, path, hasStatusPart);
  yield* validateSchemaRules(errors, schema, path, { prefix, allowExpressions: gates.has(EXPRESSIONS_GATE) });
  const before = errors.all.length;
  yield* validateStructural(errors, schema, path, prefix);
  if (before === 0 && errors.all.length === 0 && gates.has(EXPRESSIONS_GATE))
    yield* validateRules(errors, schema, path, prefix);
  // Defaults can only be validated against a structural schema.
  if (before === 0 && errors.all.length === 0) yield* validateDefaults(errors, schema, path, vocabulary);
  return unique(errors.all);
}

function unique(errors: readonly FieldError[]): readonly FieldError[] {
  const seen = new Set<string>();
  return errors.filter(({ kind, field, detail }) => {
    const key = `${kind} ${field} ${detail}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** FieldErrors of the schemas of all versions, in steps. */
export function* definitionFaultSteps(
  { spec }: CustomResourceDefinition,
  context: Pick<StrategyContext, 'vocabulary' | 'gates'>,
): Steps<readonly FieldError[]> {
  const errors: FieldError[] = [];
  for (const [index, { schema, subresources }] of spec.versions.entries()) {
    if (schema?.openAPIV3Schema === undefined) continue;
    const path = `spec.versions[${index}].schema.openAPIV3Schema`;
    const read = yield* readSchemaSteps(schema.openAPIV3Schema, context.vocabulary.schemaExtensionPrefix);
    const found = yield* schemaFaultSteps(read, path, subresources?.status !== undefined, context);
    for (const error of found) errors.push(error);
  }
  return errors;
}

/** FieldErrors of the schemas of all versions, for the strategy of definitions. */
export const createDefinitionCheck =
  (createTurns: () => Turns) =>
  (
    definition: CustomResourceDefinition,
    context: Pick<StrategyContext, 'vocabulary' | 'gates'>,
  ): Promise<readonly FieldError[]> =>
    finishInTurns(definitionFaultSteps(definition, context), createTurns());
