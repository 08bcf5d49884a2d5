/** Selectors as text: labels (`a=b,c!=d,e in (f,g),h,!i,j>3`) and fields
 *  (`metadata.name=x,spec.nodeName!=y`), and label selectors as objects. Parsing and matching only.
 *  Source: selectors, document 1. */

import type { LabelSelector } from '../gen/meta-v1.ts';
import type { LabelSet } from './labels.ts';
import { labelValueErrors, qualifiedNameErrors } from './names.ts';

export type SelectorOperator = 'in' | 'notIn' | 'exists' | 'notExists' | 'greaterThan' | 'lessThan';

/** One condition on a label; a selector matches when all of its requirements do. */
export interface Requirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  /** One or more for `in` and `notIn`, one integer for `greaterThan` and `lessThan`, else none. */
  readonly values: readonly string[];
}

/** An invalid selector. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
  readonly reason = 'InvalidSelector';
  readonly text: string;
  constructor(text: string, detail: string) {
    super(`selector ${JSON.stringify(text.slice(0, 200))}: ${detail}`);
    this.text = text;
  }
}

const INTEGER = /^[+-]?\d{1,19}$/;
const TOKEN = /\s*(==|!=|[(),!=<>]|[^\s(),!=<>]+)/y;

interface Scanner {
  /** Returns the next token, or the empty text at the end. */
  peek(): string;
  next(): string;
  fail(detail: string): never;
}

function createScanner(text: string): Scanner {
  const tokens: string[] = [];
  const { length } = text.trimEnd();
  let offset = 0;
  while (offset < length) {
    TOKEN.lastIndex = offset;
    const match = TOKEN.exec(text);
    if (match?.[1] === undefined) break;
    tokens.push(match[1]);
    offset = TOKEN.lastIndex;
  }
  let index = 0;
  return {
    peek: () => tokens[index] ?? '',
    next: () => tokens[index++] ?? '',
    fail: (detail) => {
      throw new SelectorError(text, detail);
    },
  };
}

const isWord = (token: string): boolean => token !== '' && !/^[(),!=<>]/.test(token);
const shown = (token: string): string => (token === '' ? 'the end' : `'${token}'`);

function readKey(scanner: Scanner): string {
  const key = scanner.next();
  if (!isWord(key)) return scanner.fail(`expected a label key, found ${shown(key)}`);
  const [reason] = qualifiedNameErrors(key);
  return reason === undefined ? key : scanner.fail(`label key '${key}': ${reason}`);
}

/** A value may be empty: `a=` and `a in (,b)`. */
function readValue(scanner: Scanner): string {
  const value = isWord(scanner.peek()) ? scanner.next() : '';
  const [reason] = labelValueErrors(value);
  return reason === undefined ? value : scanner.fail(`label value '${value}': ${reason}`);
}

function readSet(scanner: Scanner): readonly string[] {
  if (scanner.next() !== '(') return scanner.fail("expected '(' after in or notin");
  const values = [readValue(scanner)];
  while (scanner.peek() === ',') {
    scanner.next();
    values.push(readValue(scanner));
  }
  if (scanner.next() !== ')') return scanner.fail("expected ')' or ',' in a set of values");
  return [...new Set(values)].toSorted();
}

function readRequirement(scanner: Scanner): Requirement {
  if (scanner.peek() === '!') {
    scanner.next();
    return { key: readKey(scanner), operator: 'notExists', values: [] };
  }
  const key = readKey(scanner);
  const token = scanner.peek();
  if (token === ',' || token === '') return { key, operator: 'exists', values: [] };
  scanner.next();
  switch (token) {
    case '=':
    case '==':
      return { key, operator: 'in', values: [readValue(scanner)] };
    case '!=':
      return { key, operator: 'notIn', values: [readValue(scanner)] };
    case 'in':
      return { key, operator: 'in', values: readSet(scanner) };
    case 'notin':
      return { key, operator: 'notIn', values: readSet(scanner) };
    case '>':
    case '<':
      return { key, operator: token === '>' ? 'greaterThan' : 'lessThan', values: [readInteger(scanner)] };
    default:
      return scanner.fail(`expected an operator after '${key}', found ${shown(token)}`);
  }
}

function readInteger(scanner: Scanner): string {
  const value = scanner.next();
  return INTEGER.test(value)
    ? value
    : scanner.fail(`expected an integer after > or <, found ${shown(value)}`);
}

/** Parses a label selector; the empty text has no requirements and matches everything.
 *  @throws SelectorError */
export function parseLabelSelector(text: string): readonly Requirement[] {
  const scanner = createScanner(text);
  const requirements: Requirement[] = [];
  if (scanner.peek() === '') return requirements;
  for (;;) {
    requirements.push(readRequirement(scanner));
    const separator = scanner.next();
    if (separator === '') return requirements;
    if (separator !== ',') scanner.fail(`expected ',' between requirements, found ${shown(separator)}`);
  }
}

const isInteger = (text: string): boolean => INTEGER.test(text);

function matchesRequirement(requirement: Requirement, labels: LabelSet): boolean {
  const { key, operator, values } = requirement;
  const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notIn':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'notExists':
      return value === undefined;
    case 'greaterThan':
    case 'lessThan': {
      const bound = values[0] ?? '';
      if (value === undefined || !isInteger(value) || !isInteger(bound)) return false;
      return operator === 'greaterThan' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
    }
    default:
      return operator satisfies never;
  }
}

/** Reports whether the labels meet every requirement. */
export function matchesLabels(requirements: readonly Requirement[], labels: LabelSet): boolean {
  return requirements.every((requirement) => matchesRequirement(requirement, labels));
}

const OPERATOR_TEXTS: Readonly<Record<SelectorOperator, string>> = {
  in: ' in ',
  notIn: ' notin ',
  exists: '',
  notExists: '',
  greaterThan: '>',
  lessThan: '<',
};

/** Formats requirements; the text parses to the same requirements. */
export function formatLabelSelector(requirements: readonly Requirement[]): string {
  return requirements.map(formatRequirement).join(',');
}

function formatRequirement({ key, operator, values }: Requirement): string {
  if (operator === 'notExists') return `!${key}`;
  if (operator === 'exists') return key;
  if (operator === 'greaterThan' || operator === 'lessThan')
    return `${key}${OPERATOR_TEXTS[operator]}${values[0]}`;
  if (values.length === 1) return `${key}${operator === 'in' ? '=' : '!='}${values[0]}`;
  return `${key}${OPERATOR_TEXTS[operator]}(${values.join(',')})`;
}

const OBJECT_OPERATORS: ReadonlyMap<string, SelectorOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notIn'],
  ['Exists', 'exists'],
  ['DoesNotExist', 'notExists'],
]);

/** Returns the requirements of a label selector object. The caller handles `undefined` (no selector).
 *  @throws SelectorError for an unknown operator, or a wrong number of values */
export function selectorRequirements(selector: LabelSelector): readonly Requirement[] {
  const equal = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]): Requirement => ({ key, operator: 'in', values: [value] }),
  );
  const expressions = (selector.matchExpressions ?? []).map((expression): Requirement => {
    const operator = OBJECT_OPERATORS.get(expression.operator);
    const values = expression.values ?? [];
    if (operator === undefined) {
      throw new SelectorError(expression.operator, 'operator must be In, NotIn, Exists or DoesNotExist');
    }
    const wantsValues = operator === 'in' || operator === 'notIn';
    if (wantsValues !== values.length > 0) {
      const detail = wantsValues ? 'needs at least one value' : 'must not have values';
      throw new SelectorError(expression.operator, `operator on '${expression.key}' ${detail}`);
    }
    return { key: expression.key, operator, values };
  });
  return [...equal, ...expressions];
}

/** Formats a label selector object with sorted keys: `a=b,c in (d,e),!f`. An expression keeps its operator
 *  even with a single value.
 *  @throws SelectorError as `selectorRequirements` does */
export function formatSelector(selector: LabelSelector): string {
  const equal = Object.entries(selector.matchLabels ?? {}).map(
    ([key, value]) => [key, `${key}=${value}`] as const,
  );
  const expressions = selectorRequirements({ matchExpressions: selector.matchExpressions ?? [] }).map(
    (requirement) => [requirement.key, formatExpression(requirement)] as const,
  );
  return [...equal, ...expressions]
    .toSorted(([left], [right]) => (left < right ? -1 : Number(left > right)))
    .map(([, text]) => text)
    .join(',');
}

function formatExpression(requirement: Requirement): string {
  const { key, operator, values } = requirement;
  return operator === 'in' || operator === 'notIn'
    ? `${key}${OPERATOR_TEXTS[operator]}(${values.toSorted().join(',')})`
    : formatRequirement(requirement);
}
