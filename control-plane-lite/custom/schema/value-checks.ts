/** Checks of a schema on values: limits, enums, formats, and the logic that combines them. Compiled to one
 *  function for each type of value. */

import type { Steps } from '#api/kit/steps.ts';
import type { FieldErrorKind } from '#api/meta/field-error.ts';
import { formatOf } from './formats.ts';
import { itemSchema, type JsonSchema } from './json-schema.ts';
import { compilePattern } from './pattern/compile.ts';
import type { Pattern, StepBudget } from './pattern/matcher.ts';

/** Reports an error at the current path. `detail` follows the path: `in body …`. */
export type Report = (kind: FieldErrorKind, detail: string, badValue?: unknown) => void;

export interface ValueChecks {
  readonly ofText: readonly Check<string>[];
  readonly ofNumber: readonly Check<number | bigint>[];
  readonly ofList: readonly Check<readonly unknown[]>[];
  readonly ofObject: readonly Check<Readonly<Record<string, unknown>>>[];
  /** Of values of any sort. */
  readonly ofAny: readonly Check<unknown>[];
  readonly required: readonly string[];
  /** `undefined` without logical schemas. */
  readonly logic: Logic | undefined;
}

export type Check<T> = (value: T, report: Report, budget: StepBudget) => void;

export interface Logic {
  readonly allOf: readonly NestedChecks[];
  readonly anyOf: readonly NestedChecks[];
  readonly oneOf: readonly NestedChecks[];
  readonly not: NestedChecks | undefined;
}

/** Logical schema: only checks. */
export interface NestedChecks {
  /** Only in `anyOf: [{type: integer}, {type: string}]`. */
  readonly type: string | undefined;
  readonly checks: ValueChecks;
  readonly members: ReadonlyMap<string, NestedChecks>;
  readonly items: NestedChecks | undefined;
}

/** The schema's patterns must be expressions. A step for each schema in the logic. */
export function* compileChecks(schema: JsonSchema): Steps<ValueChecks> {
  return {
    ofText: textChecks(schema),
    ofNumber: numberChecks(schema),
    ofList: listChecks(schema),
    ofObject: objectChecks(schema),
    ofAny: schema.enum === undefined ? [] : [enumCheck(schema.enum)],
    required: schema.required,
    logic: yield* compileLogic(schema),
  };
}

function* compileLogic({ allOf, anyOf, oneOf, not }: JsonSchema): Steps<Logic | undefined> {
  if (allOf.length + anyOf.length + oneOf.length === 0 && not === undefined) return undefined;
  return {
    allOf: yield* compileEach(allOf),
    anyOf: yield* compileEach(anyOf),
    oneOf: yield* compileEach(oneOf),
    not: not === undefined ? undefined : yield* compileNested(not),
  };
}

function* compileEach(schemas: readonly JsonSchema[]): Steps<readonly NestedChecks[]> {
  const made: NestedChecks[] = [];
  for (const schema of schemas) made.push(yield* compileNested(schema));
  return made;
}

function* compileNested(schema: JsonSchema): Steps<NestedChecks> {
  yield;
  const items = itemSchema(schema);
  const members = new Map<string, NestedChecks>();
  for (const [name, child] of schema.properties) members.set(name, yield* compileNested(child));
  return {
    type: schema.type,
    checks: yield* compileChecks(schema),
    members,
    items: items === undefined ? undefined : yield* compileNested(items),
  };
}

/** Characters, not the halves of those that take two. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function textChecks({ minLength, maxLength, pattern, format, type }: JsonSchema): readonly Check<string>[] {
  const checks: Check<string>[] = [];
  if (maxLength !== undefined) {
    checks.push((text, report) => {
      if (text.length <= maxLength || lengthOf(text) <= maxLength) return;
      report('FieldValueTooLong', `may not be longer than ${maxLength}`);
    });
  }
  if (minLength !== undefined) {
    checks.push((text, report) => {
      if (text.length >= 2 * Number(minLength) || lengthOf(text) >= minLength) return;
      report('FieldValueInvalid', `in body should be at least ${minLength} chars long`, text);
    });
  }
  if (pattern !== undefined) checks.push(patternCheck(pattern));
  const isForm = type === undefined || type === 'string' ? formatOf(format) : undefined;
  if (isForm !== undefined) {
    checks.push((text, report) => {
      if (!isForm(text))
        report('FieldValueInvalid', `in body must be of type ${format}: ${JSON.stringify(text)}`, text);
    });
  }
  return checks;
}

/** Creates the automaton with the first text: a schema may have many unused expressions. */
function patternCheck(source: string): Check<string> {
  let pattern: Pattern | undefined;
  return (text, report, budget) => {
    pattern ??= compilePattern(source);
    const matches = pattern.matches(text, budget);
    if (matches === true) return;
    const detail =
      matches === false ? `should match '${source}'` : `takes too long to be compared with '${source}'`;
    report('FieldValueInvalid', `in body ${detail}`, text);
  };
}

function numberChecks(schema: JsonSchema): readonly Check<number | bigint>[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const checks: Check<number | bigint>[] = [];
  const add = (isRight: (value: number | bigint) => boolean, detail: string): void => {
    checks.push((value, report) => {
      if (!isRight(value)) report('FieldValueInvalid', `in body should be ${detail}`, value);
    });
  };
  if (maximum !== undefined) {
    if (exclusiveMaximum) add((value) => value < maximum, `less than ${maximum}`);
    else add((value) => value <= maximum, `less than or equal to ${maximum}`);
  }
  if (minimum !== undefined) {
    if (exclusiveMinimum) add((value) => value > minimum, `greater than ${minimum}`);
    else add((value) => value >= minimum, `greater than or equal to ${minimum}`);
  }
  if (multipleOf !== undefined && multipleOf > 0) {
    add((value) => isMultiple(value, multipleOf), `a multiple of ${multipleOf}`);
  }
  return checks;
}

const NEARLY = 1e-9;

/** Decimal fractions such as 0.1 aren't exact: nearly is enough for those. */
function isMultiple(value: number | bigint, of: number): boolean {
  if (typeof value === 'bigint' && Number.isInteger(of)) return value % BigInt(of) === 0n;
  if (Number.isInteger(value) && Number.isInteger(of)) return Number(value) % of === 0;
  const ratio = Number(value) / of;
  return Math.abs(ratio - Math.round(ratio)) < NEARLY * Math.max(1, Math.abs(ratio));
}

function listChecks({ minItems, maxItems, uniqueItems }: JsonSchema): readonly Check<readonly unknown[]>[] {
  const checks: Check<readonly unknown[]>[] = [];
  if (maxItems !== undefined) {
    checks.push(({ length }, report) => {
      if (length > maxItems) report('FieldValueTooMany', `must have at most ${maxItems} items`, length);
    });
  }
  if (minItems !== undefined) {
    checks.push(({ length }, report) => {
      if (length < minItems)
        report('FieldValueInvalid', `in body should have at least ${minItems} items`, length);
    });
  }
  if (uniqueItems) {
    checks.push((list, report) => {
      const texts = new Set(list.map(canonicalText));
      if (texts.size < list.length) report('FieldValueInvalid', "in body shouldn't contain duplicates");
    });
  }
  return checks;
}

function objectChecks({ minProperties, maxProperties }: JsonSchema): ValueChecks['ofObject'] {
  const checks: Check<Readonly<Record<string, unknown>>>[] = [];
  if (maxProperties !== undefined) {
    checks.push((object, report) => {
      const { length } = Object.keys(object);
      if (length > maxProperties)
        report('FieldValueTooMany', `must have at most ${maxProperties} items`, length);
    });
  }
  if (minProperties !== undefined) {
    checks.push((object, report) => {
      const { length } = Object.keys(object);
      if (length >= minProperties) return;
      report('FieldValueInvalid', `in body should have at least ${minProperties} properties`, length);
    });
  }
  return checks;
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

function enumCheck(words: readonly unknown[]): Check<unknown> {
  const scalars = new Set(words.filter(isScalar));
  const others = new Set(words.filter((word) => !isScalar(word)).map(canonicalText));
  const shown = words.map((word) => JSON.stringify(word)).join(', ');
  return (value, report) => {
    if (scalars.has(value)) return;
    if (others.size > 0 && !isScalar(value) && others.has(canonicalText(value))) return;
    report('FieldValueNotSupported', `supported values: ${shown}`, value);
  };
}

/** Returns a text that is equal for equal values, regardless of the order of members. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalText(member)}`).join(',')}}`;
}
