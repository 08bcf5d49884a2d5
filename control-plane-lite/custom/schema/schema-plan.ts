/** Schema plan: a structural schema compiled for use on every request: fields to retain, defaults, checks.
 *  Pure; compiled once for each version of a definition. */

import { copyJson } from '#api/codec/copy-json.ts';
import { isObject } from '#api/kit/object.ts';
import { finish, type Steps } from '#api/kit/steps.ts';
import { itemSchema, type JsonSchema } from './json-schema.ts';
import { compileChecks, type ValueChecks } from './value-checks.ts';

export interface SchemaPlan {
  readonly type: string | undefined;
  readonly nullable: boolean;
  readonly intOrString: boolean;
  /** Keeps members that aren't declared. */
  readonly preserve: boolean;
  /** The value is an object of its own, with apiVersion, kind and metadata. */
  readonly embedded: boolean;
  readonly members: ReadonlyMap<string, SchemaPlan>;
  /** Of all members that aren't declared, where they have one. */
  readonly additional: SchemaPlan | undefined;
  readonly items: SchemaPlan | undefined;
  readonly listType: 'atomic' | 'set' | 'map';
  readonly mapKeys: readonly string[];
  /** Complete default value, including nested defaults. Never changed. */
  readonly default: unknown;
  /** Declared members that have a default. */
  readonly filled: readonly (readonly [name: string, plan: SchemaPlan])[];
  /** Something inside has a default. */
  readonly fills: boolean;
  readonly checks: ValueChecks;
}

const NOTHING: JsonSchema = {
  exclusiveMaximum: false,
  exclusiveMinimum: false,
  uniqueItems: false,
  required: [],
  allOf: [],
  oneOf: [],
  anyOf: [],
  properties: new Map(),
  nullable: true,
  hasAdditionalItems: false,
  hasExternalDocs: false,
  hasExample: false,
  embeddedResource: false,
  intOrString: false,
  listMapKeys: [],
  validations: [],
};

/** The schema's patterns must be expressions. */
export const compilePlan = (schema: JsonSchema): SchemaPlan => finish(compilePlanSteps(schema));

/** The same in steps, one for each schema in the schema. */
export function* compilePlanSteps(schema: JsonSchema): Steps<SchemaPlan> {
  yield;
  const members = new Map<string, SchemaPlan>();
  for (const [name, child] of schema.properties) members.set(name, yield* compilePlanSteps(child));
  const items = itemSchema(schema);
  const itemPlan = items === undefined ? undefined : yield* compilePlanSteps(items);
  const additional = yield* compileAdditional(schema);
  const filled = [...members].filter(([, plan]) => plan.default !== undefined);
  const inner = [...members.values(), itemPlan, additional];
  const plan: SchemaPlan = {
    type: schema.type,
    nullable: schema.nullable,
    intOrString: schema.intOrString,
    preserve: schema.preserveUnknownFields === true,
    embedded: schema.embeddedResource,
    members,
    additional,
    items: itemPlan,
    listType: schema.listType === 'set' || schema.listType === 'map' ? schema.listType : 'atomic',
    mapKeys: schema.listMapKeys,
    default: undefined,
    filled,
    fills: filled.length > 0 || inner.some((child) => child?.fills === true || child?.default !== undefined),
    checks: yield* compileChecks(schema),
  };
  if (schema.default === undefined) return plan;
  const whole = copyJson(schema.default);
  fillDefaults(plan, whole);
  return { ...plan, default: whole };
}

/** `additionalProperties: true` lets members be, but what is in them isn't described. */
function* compileAdditional({ additionalProperties: additional }: JsonSchema): Steps<SchemaPlan | undefined> {
  if (additional === undefined || additional === false) return undefined;
  return yield* compilePlanSteps(additional === true ? NOTHING : additional);
}

/** Null where null isn't allowed counts as absent if there is a default. */
export const isReplaced = (plan: SchemaPlan, value: unknown): boolean =>
  value === undefined || (value === null && !plan.nullable && plan.default !== undefined);

/** Applies defaults to a value. Changes it. */
export function fillDefaults(plan: SchemaPlan, value: unknown): void {
  if (!plan.fills) return;
  if (Array.isArray(value)) fillItems(plan, value);
  else if (isObject(value)) fillMembers(plan, value);
}

function fillItems({ items }: SchemaPlan, list: unknown[]): void {
  if (items === undefined) return;
  for (const [index, item] of list.entries()) {
    if (isReplaced(items, item)) list[index] = copyJson(items.default);
    else fillDefaults(items, item);
  }
}

function fillMembers({ members, additional, filled }: SchemaPlan, object: Record<string, unknown>): void {
  for (const name of Object.keys(object)) {
    const plan = members.get(name) ?? additional;
    if (plan === undefined) continue;
    if (isReplaced(plan, object[name])) object[name] = copyJson(plan.default);
    else fillDefaults(plan, object[name]);
  }
  for (const [name, plan] of filled) {
    if (!Object.hasOwn(object, name)) object[name] = copyJson(plan.default);
  }
}
