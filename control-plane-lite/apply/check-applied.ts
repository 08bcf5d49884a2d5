/** Checks an applied configuration against its type as far as merging requires: members exist, objects and
 *  lists match the type, items are distinguishable. Values are validated after the merge. Pure. */

import { isObject } from '#api/kit/object.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ListNode, TypeModel, TypeNode } from '#api/schema/type-model.ts';
import { type JsonObject } from '../patch/json-value.ts';
import { elementOfItem, formatPath } from './path-element.ts';

const MOST_FAULTS = 20;

/** @throws StatusError BadRequest with every error (at most twenty) */
export function checkApplied(object: Readonly<JsonObject>, { root }: TypeModel, title: string): void {
  const faults: string[] = [];
  checkValue(object, root, [], faults);
  if (faults.length === 0) return;
  const list = faults.length === 1 ? faults[0] : `errors:\n${faults.map((fault) => `  ${fault}`).join('\n')}`;
  throw new StatusError('BadRequest', `failed to create typed patch object (${title}): ${list}`);
}

type Path = readonly string[];

function checkValue(value: unknown, node: TypeNode, path: Path, faults: string[]): void {
  if (faults.length >= MOST_FAULTS || value === null || value === undefined) return;
  const fault = (text: string): void => {
    faults.push(path.length === 0 ? text : `${formatPath(path)}: ${text}`);
  };
  switch (node.kind) {
    case 'untyped':
      return;
    case 'scalar':
      if (typeof value === 'object') fault(`expected a scalar, got ${show(value)}`);
      return;
    case 'list':
      if (Array.isArray(value)) checkItems(value, node, path, faults);
      else fault(`expected list, got ${show(value)}`);
      return;
    case 'map':
    case 'struct':
      if (isObject(value)) checkMembers(value, node, path, faults);
      else fault(`expected map, got ${show(value)}`);
      return;
    default:
      node satisfies never;
  }
}

function checkMembers(
  object: JsonObject,
  node: Extract<TypeNode, { kind: 'map' | 'struct' }>,
  path: Path,
  faults: string[],
): void {
  for (const name in object) {
    const here = [...path, `f:${name}`];
    const type = node.kind === 'map' ? node.element : node.member(name)?.node;
    if (type !== undefined) checkValue(object[name], type, here, faults);
    else if (faults.length < MOST_FAULTS) faults.push(`${formatPath(here)}: field not declared in schema`);
  }
}

function checkItems(items: readonly unknown[], list: ListNode, path: Path, faults: string[]): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const element = list.listType === 'atomic' ? `i:${index}` : elementOfItem(item, list);
    if (faults.length >= MOST_FAULTS) return;
    if (typeof element !== 'string') faults.push(`${formatPath(path)}: element ${index}: ${element.fault}`);
    else if (seen.has(element)) {
      faults.push(`${formatPath(path)}: duplicate entries for key ${formatPath([element])}`);
    } else {
      seen.add(element);
      checkValue(item, list.element, [...path, element], faults);
    }
  }
}

const LONGEST_SHOWN = 100;

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}
