/** Directives of a strategic merge patch: members whose names start with `$`. Pure. */
import { setMember } from '#api/codec/set-member.ts';
import { type JsonObject, own } from './json-value.ts';
import { malformed } from './patch-errors.ts';

export const PATCH = '$patch';
const RETAIN_KEYS = '$retainKeys';
const DELETE_PREFIX = '$deleteFromPrimitiveList/';
const ORDER_PREFIX = '$setElementOrder/';

/** Removes the members that `$retainKeys` doesn't name.
 *  @throws StatusError BadRequest if the patch sets a member that it doesn't retain */
export function retained(document: Readonly<JsonObject>, patch: JsonObject): Readonly<JsonObject> {
  const keys = own(patch, RETAIN_KEYS);
  if (keys === undefined) return document;
  if (!Array.isArray(keys)) throw malformed('invalid patch format of retainKeys: it must be a list of names');
  const names = new Set<unknown>(keys);
  for (const name in patch) {
    if (!name.startsWith('$') && patch[name] !== null && !names.has(name)) {
      throw malformed(`invalid patch format of retainKeys: ${name} is set but not retained`);
    }
  }
  const rest: JsonObject = {};
  for (const name in document) if (names.has(name)) setMember(rest, name, document[name]);
  return rest;
}

interface PatchedNames {
  readonly names: ReadonlySet<string>;
  /** Whether the patch has directives for lists. */
  readonly hasOrders: boolean;
}

/** Members that the patch changes or orders, or takes items from. */
export function patchedNames(patch: JsonObject): PatchedNames {
  const names = new Set<string>();
  let hasOrders = false;
  for (const key in patch) {
    if (key === PATCH || key === RETAIN_KEYS) continue;
    if (key.startsWith('$')) hasOrders = true;
    if (key.startsWith(DELETE_PREFIX)) names.add(key.slice(DELETE_PREFIX.length));
    else if (key.startsWith(ORDER_PREFIX)) names.add(key.slice(ORDER_PREFIX.length));
    else names.add(key);
  }
  return { names, hasOrders };
}

/** Directives for a list, beside its member. */
interface ListDirectives {
  /** The order of its items. */
  readonly order: readonly unknown[] | undefined;
  /** Items to remove from a list of primitive values. */
  readonly deleted: readonly unknown[] | undefined;
}

/** @throws StatusError BadRequest */
export function listDirectives(patch: JsonObject, name: string): ListDirectives {
  return {
    order: listOf(own(patch, ORDER_PREFIX + name), 'setElementOrder list'),
    deleted: listOf(own(patch, DELETE_PREFIX + name), 'primitive list'),
  };
}

export const NO_DIRECTIVES: ListDirectives = { order: undefined, deleted: undefined };

/** @throws StatusError BadRequest */
function listOf(value: unknown, name: string): readonly unknown[] | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isList(value)) throw malformed(`invalid patch format of ${name}: it must be a list`);
  return value;
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
