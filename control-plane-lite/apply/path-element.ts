/** Path elements as text: how list items are identified, parsed, ordered and displayed. Pure.
 *  Source: upstream's FieldsV1 (`f:`, `k:`, `v:`, `i:`). */

import { parseJsonText } from '#api/codec/json-text.ts';
import { compareNumbers } from '#api/kit/int64.ts';
import { isObject } from '#api/kit/object.ts';
import type { ListNode } from '#api/schema/type-model.ts';
import { own } from '../patch/json-value.ts';

/** A list item without an identity: a key is missing, or is not a scalar. */
export interface Nameless {
  readonly error: string;
}

interface KeyPart {
  readonly name: string;
  /** `k:{"containerPort":` or `,"protocol":`. */
  readonly text: string;
  readonly fallback: unknown;
}

// A cache: the parts follow from the node alone.
const keyParts = new WeakMap<ListNode, readonly KeyPart[]>();

function partsOf(list: ListNode): readonly KeyPart[] {
  const known = keyParts.get(list);
  if (known !== undefined) return known;
  const parts = [...list.mapKeys].sort().map((name, index) => ({
    name,
    text: `${index === 0 ? 'k:{' : ','}${JSON.stringify(name)}:`,
    fallback: own(list.keyDefaults, name),
  }));
  keyParts.set(list, parts);
  return parts;
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' && value !== undefined;

/** Returns the element that identifies an item of a list of type `set` or `map`. */
export function elementOfItem(item: unknown, list: ListNode): string | Nameless {
  if (list.listType === 'set') return elementOfValue(item);
  if (!isObject(item)) return { error: 'associative list with keys may not have non-map elements' };
  let element = '';
  for (const { name, text, fallback } of partsOf(list)) {
    const value = own(item, name) ?? fallback;
    if (!isScalar(value)) {
      const error = `associative list with keys has an element that omits key field ${JSON.stringify(name)} (and doesn't have default value)`;
      return { error };
    }
    element += text + JSON.stringify(value);
  }
  return `${element}}`;
}

function elementOfValue(item: unknown): string | Nameless {
  if (isScalar(item)) return `v:${JSON.stringify(item)}`;
  if (item === null || item === undefined) {
    return { error: "associative list without keys has an element that's an explicit null" };
  }
  const what = Array.isArray(item) ? 'list' : 'map';
  return { error: `associative list without keys has an element that's a ${what} type` };
}

/** Reports whether two items have the same identity, without building it. */
export function isSameItem(a: unknown, b: unknown, list: ListNode): boolean {
  if (a === b) return isScalar(a) || list.listType === 'map';
  if (list.listType === 'set' || !isObject(a) || !isObject(b)) return false;
  for (const { name, fallback } of partsOf(list)) {
    const value = own(a, name) ?? fallback;
    if (!isScalar(value) || value !== (own(b, name) ?? fallback)) return false;
  }
  return true;
}

/** Parses an element from a client into the canonical notation. `undefined` for unknown elements, which
 *  upstream ignores. */
export function canonicalElement(text: string): string | undefined {
  const body = text.slice(2);
  switch (text.slice(0, 2)) {
    case 'f:':
      return text;
    case 'v:':
      return canonicalValue(body);
    case 'k:':
      return canonicalKeys(body);
    case 'i:':
      return /^(?:0|[1-9]\d{0,8})$/.test(body) ? text : undefined;
    default:
      return text === '.' ? text : undefined;
  }
}

function canonicalValue(body: string): string | undefined {
  const value = parse(body);
  return isScalar(value) ? `v:${JSON.stringify(value)}` : undefined;
}

function canonicalKeys(body: string): string | undefined {
  const keys = parse(body);
  if (!isObject(keys)) return undefined;
  const names = Object.keys(keys).sort();
  if (names.length === 0 || !names.every((name) => isScalar(own(keys, name)))) return undefined;
  return `k:{${names.map((name) => `${JSON.stringify(name)}:${JSON.stringify(own(keys, name))}`).join(',')}}`;
}

function parse(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch {
    // Invalid JSON: unknown, like every other such text.
    return undefined;
  }
}

/** Formats `.spec.containers[name="app"].ports[containerPort=80,protocol="TCP"]`, as upstream does. */
export function formatPath(path: readonly string[]): string {
  return path.map(formatElement).join('');
}

function formatElement(element: string): string {
  const body = element.slice(2);
  if (element.startsWith('f:')) return `.${body}`;
  if (element.startsWith('v:')) return `[=${body}]`;
  if (element.startsWith('i:')) return `[${body}]`;
  const keys = parse(body);
  if (!isObject(keys)) return `[${body}]`;
  return `[${Object.entries(keys)
    .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
    .join(',')}]`;
}

const KINDS = 'fkvi';

/** Orders members first, then list items by key, by value, by index; each by text or number. */
export function compareElements(a: string, b: string): number {
  const kind = KINDS.indexOf(a.charAt(0)) - KINDS.indexOf(b.charAt(0));
  if (kind !== 0) return kind;
  if (a.startsWith('f:')) return a < b ? -1 : a > b ? 1 : 0;
  return compareValues(parse(a.slice(2)), parse(b.slice(2)));
}

const isNumber = (value: unknown): value is number | bigint =>
  typeof value === 'number' || typeof value === 'bigint';

function compareValues(a: unknown, b: unknown): number {
  if (isObject(a) && isObject(b)) {
    for (const name of Object.keys(a)) {
      const order = compareValues(own(a, name), own(b, name));
      if (order !== 0) return order;
    }
    return 0;
  }
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b);
  const [left, right] = [String(a), String(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}
