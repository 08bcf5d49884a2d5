/** Evaluation of JSON paths. Pure. Source: the platform's JSONPath template without its braces. */
import { isObject } from '../kit/object.ts';
import { type Operand, type PathFilter, type PathStep, parseSteps } from './json-path-parser.ts';

export interface JsonPath {
  /** Returns the values that match the path, evaluated lazily.
   *  @param visits limit of visited values; the search ends there */
  find(value: unknown, visits?: number): Iterable<unknown>;
  /** The steps, for callers that allow only some. */
  readonly steps: readonly PathStep[];
}

/** Default limit of values visited by one search: `..` in a large object must not delay others. */
const MAX_VISITS = 20_000;

/** Remaining visits of a search. */
interface Budget {
  left: number;
}

function* childrenOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) yield* value;
  else if (isObject(value)) for (const name of Object.keys(value)) yield value[name];
}

function* deep(value: unknown, budget: Budget): Iterable<unknown> {
  budget.left -= 1;
  if (budget.left < 0) return;
  yield value;
  for (const child of childrenOf(value)) yield* deep(child, budget);
}

function* sliceOf(list: readonly unknown[], { from = 0, to, by }: PathStep & { readonly kind: 'slice' }) {
  const { length } = list;
  const start = Math.max(0, from < 0 ? length + from : from);
  const end = to === undefined ? length : to < 0 ? length + to : Math.min(to, length);
  for (let index = start; index < end; index += by) yield list[index];
}

function* itemsOf(list: readonly unknown[], indices: readonly number[]): Iterable<unknown> {
  for (const index of indices) {
    const at = index < 0 ? list.length + index : index;
    if (at >= 0 && at < list.length) yield list[at];
  }
}

function* take(step: PathStep, value: unknown, budget: Budget): Iterable<unknown> {
  switch (step.kind) {
    case 'members':
      if (!isObject(value)) return;
      for (const name of step.names) if (Object.hasOwn(value, name)) yield value[name];
      return;
    case 'items':
      if (Array.isArray(value)) yield* itemsOf(value, step.indices);
      return;
    case 'slice':
      if (Array.isArray(value)) yield* sliceOf(value, step);
      return;
    case 'all':
      yield* childrenOf(value);
      return;
    case 'deep':
      yield* deep(value, budget);
      return;
    case 'filter':
      if (!Array.isArray(value)) return;
      for (const item of value) if (holds(step.filter, item, budget)) yield item;
      return;
    default:
      step satisfies never;
  }
}

function* walk(steps: readonly PathStep[], at: number, value: unknown, budget: Budget): Iterable<unknown> {
  const step = steps[at];
  if (step === undefined) {
    yield value;
    return;
  }
  for (const next of take(step, value, budget)) {
    budget.left -= 1;
    if (budget.left < 0) return;
    yield* walk(steps, at + 1, next, budget);
  }
}

function firstOf(operand: Operand, item: unknown, budget: Budget): unknown {
  if (operand.kind === 'literal') return operand.value;
  for (const value of walk(operand.steps, 0, item, budget)) return value;
  return undefined;
}

function holds({ left, compare }: PathFilter, item: unknown, budget: Budget): boolean {
  const a = firstOf(left, item, budget);
  if (compare === undefined) return a !== undefined;
  const b = firstOf(compare.right, item, budget);
  const { operator } = compare;
  if (operator === '==') return a === b;
  return operator === '!=' ? a !== undefined && a !== b : isOrdered(a, b, operator);
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

function isOrdered(a: unknown, b: unknown, operator: '<' | '<=' | '>' | '>='): boolean {
  const comparable = (isNumber(a) && isNumber(b)) || (typeof a === 'string' && typeof b === 'string');
  if (!comparable) return false;
  switch (operator) {
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    default:
      return operator satisfies never;
  }
}

/** @throws JsonPathError */
export function parseJsonPath(text: string): JsonPath {
  const steps = parseSteps(text);
  return { steps, find: (value, visits = MAX_VISITS) => walk(steps, 0, value, { left: visits }) };
}

/** Returns the first value that matches the path; `undefined` if there is none. */
export function findFirst(path: JsonPath, value: unknown): unknown {
  for (const found of path.find(value)) return found;
  return undefined;
}
