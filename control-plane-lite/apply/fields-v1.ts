/** Reads sets of fields that a client wrote. What the server stored itself needs no reading: the stored form is
 *  the set. Source: document 1, 2.5; upstream's FieldsV1. Pure. */
import { isObject } from '../patch/json-value.ts';
import { EMPTY_SET, type FieldSet, type FieldSetDraft, isEmptySet, LEAF, union } from './field-set.ts';
import { canonicalElement } from './path-element.ts';

/** A value that is no set of fields. */
export class FieldsV1Error extends Error {
  override readonly name = 'FieldsV1Error';
  readonly reason = 'InvalidFields';
}

const MAX_DEPTH = 100;

/** Keys and values take their one spelling; elements of an unknown sort are left out, as upstream does.
 *  @throws FieldsV1Error where there is something else than objects */
export function parseFieldsV1(value: unknown): FieldSet {
  const set = parseNode(value, 0);
  return set['.'] === undefined ? set : withoutSelf(set);
}

function parseNode(value: unknown, depth: number): FieldSet {
  if (!isObject(value) || depth > MAX_DEPTH)
    throw new FieldsV1Error('a set of fields must be made of objects');
  const set: FieldSetDraft = {};
  for (const text in value) {
    const element = canonicalElement(text);
    if (element === undefined) continue;
    const child = parseNode(value[text], depth + 1);
    const twice = set[element];
    set[element] = element === '.' ? LEAF : twice === undefined ? child : joined(element, twice, child);
  }
  return isLoneSelf(set) ? LEAF : set;
}

/** The same element in two spellings. */
const joined = (element: string, a: FieldSet, b: FieldSet): FieldSet =>
  union({ [element]: a }, { [element]: b })[element] ?? LEAF;

function isLoneSelf(set: FieldSet): boolean {
  for (const element in set) if (element !== '.') return false;
  return true;
}

/** The root is no member, whatever a client says. */
function withoutSelf(set: FieldSet): FieldSet {
  const { '.': _self, ...rest } = set;
  return isEmptySet(rest) ? EMPTY_SET : rest;
}
