/** Defaulting of API objects by the rules in schema/data/defaults.json. The rules of a type, and those of the
 *  types inside it, are compiled to one plan at the type's first use; running it costs microseconds. Rules of
 *  an outer type apply before those of the types inside it. */
import { isObject } from '../kit/object.ts';
import { type DefaultRule, type JsonObject, readDefaultRules } from './default-rules.ts';
import {
  compileRule,
  type DefaultOptions,
  firstMember,
  innerType,
  isEarly,
  isForReading,
  type Step,
} from './default-steps.ts';
import {
  formatTypeName,
  inlineTypes,
  jsonFields,
  parseTypeName,
  shapeOf,
  type TypeName,
  typeOf,
} from './registry.ts';
import { remember } from './remember.ts';

export type { DefaultOptions } from './default-steps.ts';

/** Visitor of a value; only values that contain types with rules have one. */
type Visit = (value: unknown, options: DefaultOptions) => void;

interface Plan {
  /** Each with the member that it fills or descends into. */
  readonly steps: readonly { readonly name: string; readonly step: Step }[];
  readonly members: readonly { readonly name: string; readonly visit: Visit }[];
}

const ruleIndex = remember((): ReadonlyMap<string, readonly DefaultRule[]> => {
  const rules = readDefaultRules().filter(isForReading);
  return Map.groupBy(
    [...rules.filter(isEarly), ...rules.filter((rule) => !isEarly(rule))],
    (rule) => rule.type,
  );
});

const rulesOf = (name: TypeName): readonly DefaultRule[] => ruleIndex().get(formatTypeName(name)) ?? [];

/** Reports whether a type, or one that its objects can contain, has rules. */
const hasRules = remember((key): boolean => {
  const seen = new Set<string>();
  const pending = [parseTypeName(key)];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (seen.has(formatTypeName(name)) || typeOf(name).jsonForm !== undefined) continue;
    seen.add(formatTypeName(name));
    if (inlineTypes(name).some((included) => rulesOf(included).length > 0)) return true;
    for (const field of jsonFields(name)) {
      const inner = innerType(field.type, field.packageName);
      if (inner !== undefined) pending.push(inner);
    }
  }
  return false;
});

function visitorOf(type: string, packageName: string): Visit | undefined {
  const inner = innerType(type, packageName);
  if (inner === undefined || !hasRules(formatTypeName(inner))) return undefined;
  const shape = shapeOf(type, packageName);
  if (shape.kind === 'struct') {
    const key = formatTypeName(shape.name);
    return (value, options) => {
      if (isObject(value)) run(planOf(key), value, options);
    };
  }
  if (shape.kind === 'scalar') return undefined;
  const each = visitorOf(shape.element, packageName);
  if (each === undefined) return undefined;
  if (shape.kind === 'map') {
    return (value, options) => {
      if (isObject(value)) for (const key in value) each(value[key], options);
    };
  }
  return (value, options) => {
    if (Array.isArray(value)) for (const item of value) each(item, options);
  };
}

const planOf = remember((key): Plan => {
  const name = parseTypeName(key);
  if (typeOf(name).jsonForm !== undefined) return { steps: [], members: [] };
  const steps = inlineTypes(name).flatMap((included) =>
    rulesOf(included).map((rule) => ({ name: firstMember(rule), step: compileRule(rule, name) })),
  );
  const members = jsonFields(name).flatMap((field) => {
    const visit = visitorOf(field.type, field.packageName);
    return visit === undefined ? [] : [{ name: field.json, visit }];
  });
  return { steps, members };
});

function run(plan: Plan, object: JsonObject, options: DefaultOptions, complete?: JsonObject): void {
  for (const { name, step } of plan.steps)
    if (!isComplete(object[name], complete?.[name])) step(object, object, options);
  for (const { name, visit } of plan.members) {
    const value = object[name];
    if (value !== undefined && !isComplete(value, complete?.[name])) visit(value, options);
  }
}

const isComplete = (value: unknown, complete: unknown): boolean =>
  typeof value === 'object' && value !== null && value === complete;

const NO_OPTIONS: DefaultOptions = {};

/** Applies every default to the draft, at all levels. Parts that it shares with `complete`, an object that
 *  has its defaults, are not changed.
 *  @throws UnknownTypeError
 *  @throws DefaultRuleError if a rule of the type is not supported */
export function applyDefaultsInPlace(
  typeRef: string,
  draft: object,
  options: DefaultOptions = NO_OPTIONS,
  complete?: object,
): void {
  if (isObject(draft)) run(planOf(typeRef), draft, options, isObject(complete) ? complete : undefined);
}

/** Returns a copy of the object with every default that applies to it, at all levels.
 *  @throws UnknownTypeError
 *  @throws DefaultRuleError if a rule of the type is not supported */
export function applyDefaults<T>(typeRef: string, value: T, options: DefaultOptions = NO_OPTIONS): T {
  const copy = structuredClone(value);
  if (typeof copy === 'object' && copy !== null) applyDefaultsInPlace(typeRef, copy, options);
  return copy;
}
