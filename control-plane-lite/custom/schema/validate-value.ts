/** Validates a value against a schema plan: every validation error has its path. Runs on every write of a
 *  custom object: no path string is built before the first error. Source: apiextensions/v1; JSON schema as
 *  upstream's servers read it. */

import { formatPath, type PathElement } from '#api/codec/limits.ts';
import { isObject } from '#api/kit/object.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { validateEmbedded } from './embedded.ts';
import type { StepBudget } from './pattern/matcher.ts';
import type { SchemaPlan } from './schema-plan.ts';
import {
  canonicalText,
  type Logic,
  type NestedChecks,
  type Report,
  type ValueChecks,
} from './value-checks.ts';

type Members = Readonly<Record<string, unknown>>;

/** Maximum number of reported errors. */
const MAX_ERRORS = 200;
/** Of all expressions and texts of an object together: some 20 ms. */
const MAX_STEPS = 100_000;
/** Comparisons of values with alternatives (`anyOf` and the like): many values and many alternatives multiply. */
const MAX_VISITS = 100_000;

/** How the field names the type of a value. */
function typeNameOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number';
  if (typeof value === 'bigint') return 'integer';
  return typeof value;
}

function hasType(type: string, value: unknown): boolean {
  switch (type) {
    case 'string':
      return typeof value === 'string';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      // A greater number is one that 64 bits do not hold, or is written as a fraction.
      return typeof value === 'bigint' || Number.isSafeInteger(value);
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return false;
  }
}

class Validator {
  readonly #path: PathElement[];
  readonly #budget: StepBudget = { left: MAX_STEPS };
  #visits = 0;
  /** FieldErrors are only counted. */
  #counting = false;
  #count = 0;
  #errors: FieldError[] = [];

  constructor(path: readonly PathElement[]) {
    this.#path = [...path];
  }

  get errors(): readonly FieldError[] {
    return this.#errors;
  }

  readonly #report: Report = (kind, detail, badValue) => {
    this.#count += 1;
    if (this.#counting) return;
    if (this.#errors.length >= MAX_ERRORS) return;
    const field = formatPath(this.#path);
    const text = detail.startsWith('in body ') ? `${field === '' ? '' : `${field} `}${detail}` : detail;
    this.#errors.push({ kind, field, detail: text, ...(badValue === undefined ? {} : { badValue }) });
  };

  /** Whether the maximum number of errors has been reached: the rest of a value is not checked. */
  get #isEnough(): boolean {
    return !this.#counting && this.#errors.length >= MAX_ERRORS;
  }

  /** A value whose check was aborted is invalid. */
  finish(): void {
    if (this.#visits > MAX_VISITS && this.#errors.length === 0) {
      this.#report('FieldValueInvalid', 'in body takes too long to be checked');
    }
  }

  validate(plan: SchemaPlan, value: unknown): void {
    if (value === null && plan.nullable) return;
    if (plan.intOrString) {
      if (typeof value !== 'string' && !hasType('integer', value))
        return this.#wrongType('integer,string', value);
    } else if (plan.type !== undefined && !hasType(plan.type, value))
      return this.#wrongType(plan.type, value);
    if (Array.isArray(value)) this.#items(plan, value);
    else if (isObject(value)) this.#members(plan, value);
    this.#checks(plan.checks, value);
    return undefined;
  }

  #wrongType(type: string, value: unknown): void {
    const name = typeNameOf(value);
    this.#report('FieldValueTypeInvalid', `in body must be of type ${type}: ${JSON.stringify(name)}`, name);
  }

  #members(plan: SchemaPlan, value: Members): void {
    const { members, additional } = plan;
    for (const name in value) {
      if (this.#isEnough) return;
      const child = members.get(name) ?? additional;
      if (child === undefined) continue;
      this.#path.push(name);
      this.validate(child, value[name]);
      this.#path.pop();
    }
    if (plan.embedded) validateEmbedded(value, formatPath(this.#path), (error) => this.#errors.push(error));
  }

  #items({ items, listType, mapKeys }: SchemaPlan, list: readonly unknown[]): void {
    if (items !== undefined) {
      for (let index = 0; index < list.length; index += 1) {
        if (this.#isEnough) return;
        this.#path.push(index);
        this.validate(items, list[index]);
        this.#path.pop();
      }
    }
    if (listType === 'set') this.#unique(list, (item) => item);
    else if (listType === 'map') this.#unique(list, (item) => keysOf(item, mapKeys));
  }

  /** Reports duplicate items. */
  #unique(list: readonly unknown[], identityOf: (item: unknown) => unknown): void {
    const seen = new Set<string>();
    for (const [index, item] of list.entries()) {
      if (this.#isEnough) return;
      const identity = identityOf(item);
      const text = canonicalText(identity);
      if (seen.has(text)) {
        this.#path.push(index);
        this.#report('FieldValueDuplicate', '', identity);
        this.#path.pop();
      }
      seen.add(text);
    }
  }

  #checks(checks: ValueChecks, value: unknown): void {
    const report = this.#report;
    const budget = this.#budget;
    for (const check of checks.ofAny) check(value, report, budget);
    if (typeof value === 'string') for (const check of checks.ofText) check(value, report, budget);
    else if (typeof value === 'number' || typeof value === 'bigint')
      for (const check of checks.ofNumber) check(value, report, budget);
    else if (Array.isArray(value)) for (const check of checks.ofList) check(value, report, budget);
    else if (isObject(value)) {
      for (const check of checks.ofObject) check(value, report, budget);
      for (const name of checks.required) if (!Object.hasOwn(value, name)) this.#missing(name);
    }
    if (checks.logic !== undefined) this.#logic(checks.logic, value);
  }

  #missing(name: string): void {
    this.#path.push(name);
    this.#report('FieldValueRequired', '');
    this.#path.pop();
  }

  #logic({ allOf, anyOf, oneOf, not }: Logic, value: unknown): void {
    for (const each of allOf) {
      if (!this.#isValid(each, value)) this.#fail('must validate all the schemas (allOf)', [each], value);
    }
    if (anyOf.length > 0 && !anyOf.some((each) => this.#isValid(each, value))) {
      this.#fail('must validate at least one schema (anyOf)', anyOf, value);
    }
    if (oneOf.length > 0) {
      const valid = oneOf.filter((each) => this.#isValid(each, value)).length;
      const text = 'must validate one and only one schema (oneOf)';
      if (valid === 0) this.#fail(text, oneOf, value);
      else if (valid > 1) this.#fail(`${text}. Found ${valid} valid alternatives`, [], value);
    }
    if (not !== undefined && this.#isValid(not, value)) {
      this.#fail('must not validate the schema (not)', [], value);
    }
  }

  /** Reports the error, with the errors of the closest alternative. */
  #fail(text: string, alternatives: readonly NestedChecks[], value: unknown): void {
    this.#report('FieldValueInvalid', `in body ${text}`);
    if (this.#counting) return;
    const tried = alternatives.map((each) => this.#try(each, value));
    const nearest = tried.toSorted((a, b) => a.length - b.length)[0] ?? [];
    this.#errors.push(...nearest.slice(0, MAX_ERRORS - this.#errors.length));
  }

  /** Reports whether the value is valid, without formatting errors. */
  #isValid(nested: NestedChecks, value: unknown): boolean {
    const outer = { counting: this.#counting, count: this.#count };
    this.#counting = true;
    this.#count = 0;
    this.#nested(nested, value);
    const isValid = this.#count === 0;
    this.#counting = outer.counting;
    this.#count = outer.count;
    return isValid;
  }

  #try(nested: NestedChecks, value: unknown): readonly FieldError[] {
    const outer = this.#errors;
    this.#errors = [];
    this.#nested(nested, value);
    const errors = this.#errors;
    this.#errors = outer;
    return errors;
  }

  #nested({ type, checks, members, items }: NestedChecks, value: unknown): void {
    this.#visits += 1;
    if (this.#visits > MAX_VISITS) {
      if (this.#errors.length === 0)
        this.#report('FieldValueInvalid', 'in body takes too long to be checked');
      return undefined;
    }
    if (type !== undefined && !hasType(type, value)) return this.#wrongType(type, value);
    if (isObject(value)) {
      for (const [name, child] of members) {
        if (!Object.hasOwn(value, name)) continue;
        this.#path.push(name);
        this.#nested(child, value[name]);
        this.#path.pop();
      }
    } else if (Array.isArray(value) && items !== undefined) {
      for (const [index, item] of value.entries()) {
        this.#path.push(index);
        this.#nested(items, item);
        this.#path.pop();
      }
    }
    return this.#checks(checks, value);
  }
}

const keysOf = (item: unknown, keys: readonly string[]): Members => {
  const found: Record<string, unknown> = {};
  if (isObject(item)) for (const key of keys) if (Object.hasOwn(item, key)) found[key] = item[key];
  return found;
};

/** Every error of a value, which stands at `path` of its object. */
export function validateValue(
  plan: SchemaPlan,
  value: unknown,
  path: readonly PathElement[] = [],
): readonly FieldError[] {
  const validator = new Validator(path);
  validator.validate(plan, value);
  validator.finish();
  return validator.errors;
}
