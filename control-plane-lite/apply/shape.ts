/** Granularity of a value under its type: whether its members have owners of their own, or it is owned as a
 *  whole. Pure. */
import type { ListNode, TypeNode } from '#api/schema/type-model.ts';
import type { JsonObject } from '../patch/json-value.ts';
import type { ObjectNode } from './member-plan.ts';

/** Returns the node by which an object's members have owners of their own; `undefined`: owned as a whole. */
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

/** Returns the node by which a list's items have owners of their own; `undefined`: owned as a whole. */
export function granularList(node: TypeNode): ListNode | undefined {
  return node.kind === 'list' && node.listType !== 'atomic' ? node : undefined;
}

/** Reports whether a value fits a list type: a list, or absent. */
export const listOrNothing = (value: unknown): value is readonly unknown[] | null | undefined =>
  value === undefined || value === null || Array.isArray(value);

/** Returns the own members, none for an absent value. */
export const membersOf = (value: JsonObject | null | undefined): JsonObject => value ?? NO_MEMBERS;

const NO_MEMBERS: JsonObject = Object.freeze({});

export function isEmptyObject(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}
