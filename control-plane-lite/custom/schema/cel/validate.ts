/** Evaluates the rules of a schema on an object. Work is limited for each rule and for all rules of a request. Pure. Source:
 *  upstream's validator of expressions, release 1.24. */
import { formatPath, type PathElement } from '#api/codec/limits.ts';
import { isObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import type { Rule, RulePlan } from './rules.ts';
import { fromJson, isError } from './values.ts';

/** Most work of one evaluation, and of all evaluations of a request. */
const MOST_CALL_COST = 1_000_000;
const MOST_REQUEST_COST = 10_000_000;
/** Reported errors. */
const MOST_ERRORS = 200;

interface Walk {
  left: number;
  readonly path: PathElement[];
  readonly errors: FieldError[];
  isOver: boolean;
}

function report({ path, errors }: Walk, typeName: string, detail: string): void {
  if (errors.length < MOST_ERRORS)
    errors.push({ kind: 'FieldValueInvalid', field: formatPath(path), badValue: typeName, detail });
}

function evaluate(
  walk: Walk,
  plan: RulePlan,
  rule: Rule,
  values: Parameters<Rule['program']['evaluate']>[0],
): void {
  const { typeName } = plan;
  const shown = rule.message === '' ? `failed rule: ${rule.rule}` : rule.message;
  const named = rule.message === '' ? rule.rule : rule.message;
  const { value, cost } = rule.program.evaluate(values, Math.min(MOST_CALL_COST, walk.left));
  walk.left -= cost;
  if (value === undefined && walk.left <= 0) {
    walk.isOver = true;
    report(
      walk,
      typeName,
      'validation failed due to running out of cost budget, no further validation rules will be run',
    );
  } else if (value === undefined) {
    walk.isOver = true;
    report(
      walk,
      typeName,
      `no further validation rules will be run due to call cost exceeds limit for rule: ${named}`,
    );
  } else if (isError(value)) {
    const detail =
      value.message === 'no such overload'
        ? `call arguments did not match a supported operator, function or macro signature for rule: ${named}`
        : `${value.message} evaluating rule: ${named}`;
    report(walk, typeName, detail);
  } else if (value !== true) report(walk, typeName, shown);
}

/** Text by which an item is found. */
const keyOf = (item: unknown, keys: readonly string[]): string | undefined =>
  isObject(item) ? JSON.stringify(keys.map((key) => [typeof item[key], String(item[key])])) : undefined;

/** Returns the items of the list before by their keys. */
function indexItems(
  list: unknown,
  keys: readonly string[] | undefined,
): ReadonlyMap<string | undefined, unknown> {
  const items: readonly unknown[] = keys === undefined || !Array.isArray(list) ? [] : list;
  return new Map(items.map((item) => [keyOf(item, keys ?? []), item]));
}

function inside(walk: Walk, name: PathElement, plan: RulePlan, value: unknown, old: unknown): void {
  walk.path.push(name);
  validate(walk, plan, value, old);
  walk.path.pop();
}

function validate(walk: Walk, plan: RulePlan, value: unknown, old: unknown): void {
  if (walk.isOver || value === undefined || value === null) return;
  const hasOld = old !== undefined && old !== null;
  for (const rule of plan.rules) {
    if (rule.isTransition && !hasOld) continue;
    evaluate(walk, plan, rule, [fromJson(value, plan.type), fromJson(old, plan.type)]);
    if (walk.isOver) return;
  }
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    if (plan.items === undefined) return;
    const before = indexItems(old, plan.mapKeys);
    for (const [index, item] of list.entries()) {
      const oldItem = before.size === 0 ? undefined : before.get(keyOf(item, plan.mapKeys ?? []));
      inside(walk, index, plan.items, item, oldItem);
    }
    return;
  }
  if (!isObject(value)) return;
  const before = isObject(old) ? old : {};
  for (const [name, member] of Object.entries(value)) {
    const child = plan.members.get(name) ?? plan.additional;
    if (child !== undefined)
      inside(walk, name, child, member, Object.hasOwn(before, name) ? before[name] : undefined);
  }
}

/** Returns the errors of an object by the rules. @param old the object before an update */
export function validateByRules(plan: RulePlan, value: unknown, old: unknown): readonly FieldError[] {
  const walk: Walk = { left: MOST_REQUEST_COST, path: [], errors: [], isOver: false };
  validate(walk, plan, value, old);
  return walk.errors;
}
