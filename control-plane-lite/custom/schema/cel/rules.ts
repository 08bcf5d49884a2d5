/** Rules of the schemas of a definition: their errors, and their plan for checking objects. Pure. Source:
 *  apiextensions/v1, ValidationRule; limits and messages of upstream's release 1.24. */

import { isObject, textOf } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { itemSchema, type JsonSchema } from '../json-schema.ts';
import { declareType } from './declare.ts';
import { compileExpression, type Program } from './expression.ts';
import { ExpressionError } from './syntax.ts';
import { type CelType, sizeOf } from './types.ts';

/** Most work of one rule, and of all rules of a schema, by the bounds that the schema gives. */
const MOST_RULE_COST = 10_000_000;
const MOST_SCHEMA_COST = 100_000_000;

export interface Rule {
  readonly program: Program;
  readonly rule: string;
  readonly message: string;
  /** It compares with the value before: only for updates. */
  readonly isTransition: boolean;
}

/** Rules of a value, and of the values in it. */
export interface RulePlan {
  readonly type: CelType;
  readonly typeName: string;
  readonly rules: readonly Rule[];
  readonly members: ReadonlyMap<string, RulePlan>;
  readonly additional: RulePlan | undefined;
  readonly items: RulePlan | undefined;
  /** Keys by which items are found in the value before. */
  readonly mapKeys: readonly string[] | undefined;
}

interface Place {
  readonly path: string;
  /** Values of this schema in one object at most. */
  readonly count: number;
  /** Whether the value before can be found. */
  readonly isCorrelated: boolean;
  readonly isRoot: boolean;
}

type Report = (
  kind: 'forbidden' | 'invalid' | 'required',
  path: string,
  detail: string,
  badValue?: unknown,
) => void;

interface Walk {
  readonly member: string;
  readonly report: Report;
  total: number;
}

const TRY =
  'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';

function excess(cost: number, limit: number): string {
  const factor = cost / limit;
  if (factor > 100) return 'more than 100x';
  return factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
}

function compileRule(
  walk: Walk,
  given: unknown,
  type: CelType,
  path: string,
  place: Place,
): Rule | undefined {
  const { report } = walk;
  const rule = isObject(given) ? textOf(given['rule']) : '';
  const message = isObject(given) ? textOf(given['message']) : '';
  if (rule.trim() === '') report('required', `${path}.rule`, 'rule is not specified');
  if (isObject(given) && given['message'] !== undefined && message.trim() === '')
    report('invalid', `${path}.message`, 'message must be non-empty if specified', message);
  if (message.includes('\n'))
    report('invalid', `${path}.message`, 'message must not contain line breaks', message);
  if (rule.trim().includes('\n') && message === '')
    report('required', `${path}.message`, 'message must be specified if rule contains line breaks');
  if (rule.trim() === '') return undefined;
  try {
    const program = compileExpression(rule, { self: type, oldSelf: type });
    checkProgram(walk, program, rule, path, place);
    return { program, rule: rule.trim(), message: message.trim(), isTransition: program.uses('oldSelf') };
  } catch (thrown) {
    if (!(thrown instanceof ExpressionError)) throw thrown;
    report('invalid', `${path}.rule`, `compilation failed: ${thrown.message}`, rule);
    return undefined;
  }
}

function checkProgram(walk: Walk, program: Program, rule: string, path: string, place: Place): void {
  const { report } = walk;
  if (program.type.kind !== 'bool')
    report('invalid', `${path}.rule`, 'cel expression must evaluate to a bool', rule);
  if (program.uses('oldSelf') && !place.isCorrelated)
    report(
      'invalid',
      `${path}.rule`,
      `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.path}`,
      rule,
    );
  const cost = program.cost * place.count;
  walk.total += cost;
  if (cost > MOST_RULE_COST)
    report(
      'forbidden',
      `${path}.rule`,
      `estimated rule cost exceeds budget by factor of ${excess(cost, MOST_RULE_COST)} (${TRY})`,
    );
}

/** In steps, one for each schema. */
function* walkSchema(walk: Walk, schema: JsonSchema, place: Place): Steps<RulePlan | undefined> {
  yield;
  const type = declareType(schema, 0, place.isRoot);
  const rules: Rule[] = [];
  for (const [index, given] of schema.validations.entries()) {
    const path = `${place.path}.${walk.member}[${index}]`;
    if (type === undefined) {
      walk.report('invalid', `${path}.rule`, 'rules need a type that is known: this schema has none');
      continue;
    }
    const rule = compileRule(walk, given, type, path, place);
    if (rule !== undefined) rules.push(rule);
  }
  const inner = { ...place, isRoot: false };
  const members = new Map<string, RulePlan>();
  for (const [name, child] of schema.properties) {
    const plan = yield* walkSchema(walk, child, { ...inner, path: `${place.path}.properties[${name}]` });
    if (plan !== undefined) members.set(name, plan);
  }
  const many = { ...inner, count: place.count * (type === undefined ? 1 : sizeOf(type)) };
  const additional = yield* walkAdditional(walk, schema, many);
  const items = itemSchema(schema);
  const isMap = schema.listType === 'map';
  const itemPlan =
    items === undefined
      ? undefined
      : yield* walkSchema(walk, items, {
          ...many,
          path: `${place.path}.items`,
          isCorrelated: place.isCorrelated && isMap,
        });
  const hasInner = members.size > 0 || additional !== undefined || itemPlan !== undefined;
  if (type === undefined || (rules.length === 0 && !hasInner)) return undefined;
  return {
    type,
    typeName: schema.type ?? '',
    rules,
    members,
    additional,
    items: itemPlan,
    mapKeys: isMap ? schema.listMapKeys : undefined,
  };
}

function* walkAdditional(
  walk: Walk,
  { additionalProperties: additional }: JsonSchema,
  place: Place,
): Steps<RulePlan | undefined> {
  if (typeof additional !== 'object') return undefined;
  return yield* walkSchema(walk, additional, { ...place, path: `${place.path}.additionalProperties` });
}

const ROOT = { count: 1, isCorrelated: true, isRoot: true };

/** Reports the errors of all rules. @param prefix of extension members */
export function* validateRules(
  errors: FieldErrors,
  schema: JsonSchema,
  path: string,
  prefix: string,
): Steps<void> {
  const report: Report = (kind, field, detail, badValue) => {
    if (kind === 'invalid') errors.invalid(field, badValue, detail);
    else if (kind === 'required') errors.required(field, detail);
    else errors.forbidden(field, detail);
  };
  const walk: Walk = { member: `${prefix}validations`, report, total: 0 };
  yield* walkSchema(walk, schema, { ...ROOT, path });
  if (walk.total > MOST_SCHEMA_COST)
    errors.forbidden(
      path,
      `estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of ${excess(walk.total, MOST_SCHEMA_COST)} (${TRY})`,
    );
}

/** Returns the plan of a schema whose rules are valid; undefined if it has none. In steps. */
export function* compileRules(schema: JsonSchema): Steps<RulePlan | undefined> {
  return yield* walkSchema({ member: '', report: () => undefined, total: 0 }, schema, { ...ROOT, path: '' });
}
