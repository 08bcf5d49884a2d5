/** Checks an applied configuration against its type as far as merging requires: members exist, objects and
 *  lists match the type, items are distinguishable. Values are validated after the merge. Pure. */

import { isObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { elementOfItem, formatPath } from './path-element.ts';

const MAX_FIELD_ERRORS = 20;

/** @throws StatusError BadRequest with every error (at most twenty) */
export function checkApplied(object: Readonly<JsonObject>, { root }: TypeModel, title: string): void {
  const errors: string[] = [];
  checkValue(object, root, [], errors);
  if (errors.length === 0) return;
  const list = errors.length === 1 ? errors[0] : `errors:\n${errors.map((error) => `  ${error}`).join('\n')}`;
  throw new StatusError('BadRequest', `failed to create typed patch object (${title}): ${list}`);
}

type Path = readonly string[];

function checkValue(value: unknown, node: TypeNode, path: Path, errors: string[]): void {
  if (errors.length >= MAX_FIELD_ERRORS || value === null || value === undefined) return;
  const error = (text: string): void => {
    errors.push(path.length === 0 ? text : `${formatPath(path)}: ${text}`);
  };
  switch (node.kind) {
    case 'untyped':
      return;
    case 'scalar':
      if (typeof value === 'object') error(`expected a scalar, got ${show(value)}`);
      return;
    case 'list':
      if (Array.isArray(value)) checkItems(value, node, path, errors);
      else error(`expected list, got ${show(value)}`);
      return;
    case 'map':
    case 'struct':
      if (isObject(value)) checkMembers(value, node, path, errors);
      else error(`expected map, got ${show(value)}`);
      return;
    default:
      node satisfies never;
  }
}

function checkMembers(
  object: JsonObject,
  node: Extract<TypeNode, { kind: 'map' | 'struct' }>,
  path: Path,
  errors: string[],
): void {
  for (const name in object) {
    const here = [...path, `f:${name}`];
    const type = node.kind === 'map' ? node.element : node.member(name)?.node;
    if (type !== undefined) checkValue(object[name], type, here, errors);
    else if (errors.length < MAX_FIELD_ERRORS)
      errors.push(`${formatPath(here)}: field not declared in schema`);
  }
}

function checkItems(items: readonly unknown[], list: ListNode, path: Path, errors: string[]): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const element = list.listType === 'atomic' ? `i:${index}` : elementOfItem(item, list);
    if (errors.length >= MAX_FIELD_ERRORS) return;
    if (typeof element !== 'string') errors.push(`${formatPath(path)}: element ${index}: ${element.error}`);
    else if (seen.has(element)) {
      errors.push(`${formatPath(path)}: duplicate entries for key ${formatPath([element])}`);
    } else {
      seen.add(element);
      checkValue(item, list.element, [...path, element], errors);
    }
  }
}

const LONGEST_SHOWN = 100;

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
