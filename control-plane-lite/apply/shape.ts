/** What a value is under its type: whether it is looked into, or owned as a whole. Pure. */
import type { ListNode, TypeNode } from '#api/schema/type-model.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ObjectNode } from './member-plan.ts';

/** The node by which an object's members have owners of their own; `undefined`: it is owned as a whole. */
export function granularObject(node: TypeNode): ObjectNode | undefined {
  switch (node.kind) {
    case 'struct':
      return node.structType === 'granular' ? node : undefined;
    case 'map':
      return node.mapType === 'granular' ? node : undefined;
    case 'untyped':
      return node;
    case 'list':
    case 'scalar':
      return undefined;
    default:
      return node satisfies never;
  }
}

/** The node by which a list's items have owners of their own; `undefined`: it is owned as a whole. */
export function granularList(node: TypeNode): ListNode | undefined {
  return node.kind === 'list' && node.listType !== 'atomic' ? node : undefined;
}

/** A value that fits a list type: a list, or nothing. */
export const listOrNothing = (value: unknown): value is readonly unknown[] | null | undefined =>
  value === undefined || value === null || Array.isArray(value);

/** Own members, empty for nothing. */
export const membersOf = (value: JsonObject | null | undefined): JsonObject => value ?? NO_MEMBERS;

const NO_MEMBERS: JsonObject = Object.freeze({});

export function isEmptyObject(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}
