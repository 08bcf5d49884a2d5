/** JSON Patch (RFC 6902), with bounds on the growth that a short patch can cause. Pure. */

import { copyJson, copyJsonSteps } from '#api/codec/copy-json.ts';
import type { MemberNames } from '#api/codec/member-names.ts';
import { setMember } from '#api/codec/set-member.ts';
import { Later } from '#api/kit/later.ts';
import { isMutableObject } from '#api/kit/object.ts';
import type { Steps } from '#api/kit/steps.ts';
import { type JsonPatchOperation, type Pointer, parseJsonPatch } from './json-patch-operations.ts';
import { formatPointer, parseIndex } from './json-pointer.ts';
import { type JsonObject, own, sameJson, sameJsonSteps } from './json-value.ts';
import { unprocessable } from './patch-errors.ts';

/** Maximum growth of the document by all copy operations together, in characters of its JSON. */
export const MAX_COPY_GROWTH: number = 3 * 1024 * 1024;
const OPERATIONS_AT_A_TIME = 500;
/** Maximum nesting that a patch may create, the same as for parsing a document. */
const MAX_PATCHED_DEPTH = 100;

/** Returns the document after all operations; neither it nor the patch is modified, and nothing is shared
 *  with them.
 *  @throws StatusError BadRequest, RequestEntityTooLarge; Invalid if a test fails or a path doesn't exist */
export function* applyJsonPatch(document: unknown, patch: unknown, names?: MemberNames): Steps<unknown> {
  const operations = parseJsonPatch(patch);
  yield;
  const inSlices = names !== undefined;
  const state: State = {
    root: inSlices ? yield* copyJsonSteps(document) : copyJson(document),
    growth: 0,
    names,
  };
  for (const [index, operation] of operations.entries()) {
    // Others set a member, or work on values of the patch itself.
    if (operation.op === 'copy' || index % OPERATIONS_AT_A_TIME === 0) yield;
    if (inSlices) yield* applySteps(state, operation, names);
    else applyOperation(state, operation);
  }
  return state.root;
}

/** A value that an operation brings may be as large as the patch. */
function* applySteps(state: State, operation: JsonPatchOperation, names: MemberNames): Steps<void> {
  const { op, path } = operation;
  if (op === 'copy') {
    const source = valueAt(state.root, operation.from);
    grow(state, source);
    yield;
    put(state, path, yield* copySteps(source, path, names));
    return;
  }
  if ((op !== 'add' && op !== 'replace' && op !== 'test') || !isObjectOrList(operation.value)) {
    applyOperation(state, operation);
    return;
  }
  if (op === 'test') {
    if (yield* sameJsonSteps(valueAt(state.root, path), operation.value)) return;
    throw unprocessable(`testing value ${formatPointer(path)} failed`);
  }
  const value = yield* copySteps(operation.value, path, names);
  if (op === 'add') put(state, path, value);
  else replacePut(state, path, value);
}

function* copySteps(value: unknown, path: Pointer, names: MemberNames): Steps<unknown> {
  const later = new Later();
  const copied = copyShallow(value, MAX_PATCHED_DEPTH - path.length, { later, names });
  yield* later.steps();
  return copied;
}

const isObjectOrList = (value: unknown): boolean => typeof value === 'object' && value !== null;

interface CopyWork {
  readonly later: Later;
  readonly names: MemberNames;
}

/** A copy that is complete once the rest is done.
 *  @throws StatusError Invalid if it is too deep */
function copyShallow(value: unknown, levels: number, work: CopyWork): unknown {
  if (levels < 0) throw tooDeep();
  const { later, names } = work;
  if (Array.isArray(value)) {
    const list: unknown[] = [];
    later.each(value, (item) => list.push(copyShallow(item, levels - 1, work)));
    return list;
  }
  if (!isMutableObject(value)) return value;
  const object: JsonObject = {};
  const members = names.of(value);
  later.each(members, (name) => setMember(object, name, copyShallow(value[name], levels - 1, work)));
  names.learn(object, members);
  return object;
}

interface State {
  root: unknown;
  /** Characters added by copy operations. */
  growth: number;
  /** Absent: neither the document nor the patch is large. */
  readonly names: MemberNames | undefined;
}

function applyOperation(state: State, operation: JsonPatchOperation): void {
  const { op, path } = operation;
  switch (op) {
    case 'add':
      return add(state, path, copyJson(operation.value));
    case 'remove':
      remove(state, path);
      return undefined;
    case 'replace':
      return replace(state, path, copyJson(operation.value));
    case 'test':
      if (sameJson(valueAt(state.root, path), operation.value)) return undefined;
      throw unprocessable(`testing value ${formatPointer(path)} failed`);
    case 'move':
      return move(state, operation.from, path);
    case 'copy':
      return copy(state, operation.from, path);
    default:
      return op satisfies never;
  }
}

function move(state: State, from: Pointer, path: Pointer): void {
  if (path.length > from.length && from.every((token, index) => path[index] === token)) {
    throw unprocessable(`${formatPointer(from)} can't be moved into itself, to ${formatPointer(path)}`);
  }
  if (formatPointer(from) === formatPointer(path)) {
    valueAt(state.root, from);
    return;
  }
  add(state, path, remove(state, from));
}

function copy(state: State, from: Pointer, path: Pointer): void {
  const value = valueAt(state.root, from);
  grow(state, value);
  add(state, path, copyJson(value));
}

/** @throws StatusError Invalid if the document has grown too much */
function grow(state: State, value: unknown): void {
  state.growth += JSON.stringify(value).length;
  if (state.growth > MAX_COPY_GROWTH) {
    throw unprocessable(
      `Unable to complete the copy, the accumulated size increase of copy is ${state.growth}, exceeding the limit ${MAX_COPY_GROWTH}`,
    );
  }
}

/** @throws StatusError Invalid if the path doesn't exist */
function valueAt(root: unknown, path: Pointer): unknown {
  let value = root;
  for (const [index, token] of path.entries()) {
    value = childOf(value, token);
    if (value === undefined) throw missing(path.slice(0, index + 1));
  }
  return value;
}

function childOf(value: unknown, token: string): unknown {
  if (Array.isArray(value)) {
    const index = parseIndex(token);
    return index === undefined ? undefined : value[index];
  }
  return isMutableObject(value) ? own(value, token) : undefined;
}

const missing = (path: Pointer): Error => unprocessable(`there is nothing at ${formatPointer(path)}`);

const tooDeep = (): Error =>
  unprocessable(`the document would be nested more than ${MAX_PATCHED_DEPTH} levels deep`);

function checkDepth(path: Pointer, value: unknown): void {
  if (isDeeper(value, MAX_PATCHED_DEPTH - path.length)) throw tooDeep();
}

function isDeeper(value: unknown, levels: number): boolean {
  if (levels < 0) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((child) => isDeeper(child, levels - 1));
}

/** Returns the list or object that contains the target of the path, and the last token of the path. */
function holderOf(root: unknown, path: Pointer): { readonly holder: unknown; readonly token: string } {
  return { holder: valueAt(root, path.slice(0, -1)), token: path.at(-1) ?? '' };
}

function add(state: State, path: Pointer, value: unknown): void {
  checkDepth(path, value);
  put(state, path, value);
}

function put(state: State, path: Pointer, value: unknown): void {
  if (path.length === 0) {
    state.root = value;
    return;
  }
  const { holder, token } = holderOf(state.root, path);
  if (Array.isArray(holder)) {
    const index = token === '-' ? holder.length : parseIndex(token);
    if (index === undefined || index > holder.length) throw missing(path);
    holder.splice(index, 0, value);
  } else if (isMutableObject(holder)) {
    state.names?.forget(holder);
    setMember(holder, token, value);
  } else throw missing(path);
}

/** @returns the previous value */
function remove(state: State, path: Pointer): unknown {
  const value = valueAt(state.root, path);
  if (path.length === 0) {
    state.root = null;
    return value;
  }
  const { holder, token } = holderOf(state.root, path);
  if (Array.isArray(holder)) holder.splice(Number(token), 1);
  else if (isMutableObject(holder)) {
    state.names?.forget(holder);
    delete holder[token];
  }
  return value;
}

/** Creates missing parents, as upstream does: upstream clients replace annotations that an object may
 *  lack. */
function replace(state: State, path: Pointer, value: unknown): void {
  checkDepth(path, value);
  replacePut(state, path, value);
}

function replacePut(state: State, path: Pointer, value: unknown): void {
  if (path.length === 0) {
    state.root = value;
    return;
  }
  const { holder, token } = holderOf(state.root, path);
  if (isMutableObject(holder)) {
    state.names?.forget(holder);
    setMember(holder, token, value);
  } else {
    valueAt(state.root, path);
    if (Array.isArray(holder)) holder[Number(token)] = value;
  }
}
