/** Parses field sets from clients. Sets stored by the server need no parsing: the stored form is the set.
 *  Pure. Source: managedFields, document 1 §2.5; upstream's FieldsV1. */

import { isObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { EMPTY_SET, type FieldSet, type FieldSetDraft, isEmptySet, LEAF, union } from './field-set.ts';
import { canonicalElement } from './path-element.ts';

/** An invalid field set. */
export class FieldsV1Error extends Error {
  override readonly name = 'FieldsV1Error';
  readonly reason = 'InvalidFields';
}

const MAX_DEPTH = 100;

/** Normalizes the notation of keys and values; drops unknown kinds of elements, as upstream does.
 *  @throws FieldsV1Error for anything other than objects */
export function parseFieldsV1(value: unknown): FieldSet {
  const set = parseNode(value, 0);
  return set['.'] === undefined ? set : withoutSelf(set);
}

function parseNode(value: unknown, depth: number): FieldSet {
  if (!isObject(value) || depth > MAX_DEPTH) throw new FieldsV1Error('a field set must consist of objects');
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

/** The same of a set with very many fields, in short steps.
 *  @throws FieldsV1Error for anything other than objects */
export function* parseFieldsV1Steps(value: unknown): Steps<FieldSet> {
  const set = yield* parseNodeSteps(value, 0, { left: FIELDS_AT_A_TIME });
  return set['.'] === undefined ? set : withoutSelf(set);
}

const FIELDS_AT_A_TIME = 4000;

function* parseNodeSteps(value: unknown, depth: number, slice: { left: number }): Steps<FieldSet> {
  if (!isObject(value) || depth > MAX_DEPTH) throw new FieldsV1Error('a field set must consist of objects');
  const texts = Object.keys(value);
  if (texts.length === 0) return LEAF;
  const set: FieldSetDraft = {};
  let isLone = true;
  for (const text of texts) {
    slice.left -= 1;
    if (slice.left <= 0) {
      slice.left = FIELDS_AT_A_TIME;
      yield;
    }
    const element = canonicalElement(text);
    if (element === undefined) continue;
    if (element !== '.') isLone = false;
    const child = yield* parseNodeSteps(value[text], depth + 1, slice);
    const twice = set[element];
    set[element] = element === '.' ? LEAF : twice === undefined ? child : joined(element, twice, child);
  }
  return isLone ? LEAF : set;
}

/** Merges the same element in two notations. */
const joined = (element: string, a: FieldSet, b: FieldSet): FieldSet =>
  union({ [element]: a }, { [element]: b })[element] ?? LEAF;

function isLoneSelf(set: FieldSet): boolean {
  for (const element in set) if (element !== '.') return false;
  return true;
}

/** The root is never a member, even if a client claims it. */
function withoutSelf(set: FieldSet): FieldSet {
  const { '.': _self, ...rest } = set;
  return isEmptySet(rest) ? EMPTY_SET : rest;
}
