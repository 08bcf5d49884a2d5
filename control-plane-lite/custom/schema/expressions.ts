/** Removes validation rules in the expression language while their gate is off, so that definitions with such
 *  rules can still be used. Source: apiextensions/v1, feature gate CustomResourceValidationExpressions;
 *  upstream's release 1.24 does the same. */
import type { CustomResourceDefinition } from '#api/gen/apiextensions-v1.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { StrategyContext } from '../../resources/contract.ts';
import { type Members } from '../../resources/view.ts';
import { EXPRESSIONS_GATE } from './structural-schema.ts';

/** Members of a schema that are schemas, lists of them, and maps of them. */
const ONE = ['not', 'additionalProperties', 'additionalItems', 'items'];
const LISTS = ['allOf', 'anyOf', 'oneOf', 'items'];
const MAPS = ['properties', 'patternProperties', 'definitions'];

function drop(schema: unknown, member: string): void {
  if (!isMutableObject(schema)) return;
  delete schema[member];
  for (const name of ONE) drop(schema[name], member);
  for (const name of LISTS) for (const child of listOf(schema[name])) drop(child, member);
  for (const name of MAPS) for (const child of Object.values(membersOf(schema[name]))) drop(child, member);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const membersOf = (value: unknown): Members => (isMutableObject(value) ? value : {});

/** Leaves rules out of the schemas of a definition unless they are enabled. Changes the draft. */
export function dropExpressions(
  { spec }: CustomResourceDefinition,
  { gates, vocabulary }: Pick<StrategyContext, 'gates' | 'vocabulary'>,
): void {
  if (gates.has(EXPRESSIONS_GATE)) return;
  const member = `${vocabulary.schemaExtensionPrefix}validations`;
  for (const { schema } of spec.versions) drop(schema?.openAPIV3Schema, member);
}
