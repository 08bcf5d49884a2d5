/** Operations of a JSON Patch (RFC 6902), parsed from a request. Pure. */
import { isMutableObject } from '#api/kit/object.ts';
import { PointerError, parsePointer } from './json-pointer.ts';
import { type JsonObject, own } from './json-value.ts';
import { malformed, tooLarge } from './patch-errors.ts';

export const MAX_OPERATIONS = 10_000;

export type Pointer = readonly string[];

/** A parsed operation. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer };

/** Parses a patch from a request.
 *  @throws StatusError BadRequest if it is malformed, RequestEntityTooLarge if it has more than 10,000
 *  operations */
export function parseJsonPatch(patch: unknown): readonly JsonPatchOperation[] {
  if (!Array.isArray(patch)) throw malformed('a JSON patch must be a list of operations');
  if (patch.length > MAX_OPERATIONS) {
    throw tooLarge(
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown, index) => {
    try {
      return parseOperation(operation);
    } catch (cause) {
      if (cause instanceof PointerError)
        throw malformed(`operation ${index} of the JSON patch: ${cause.message}`);
      throw cause;
    }
  });
}

function parseOperation(operation: unknown): JsonPatchOperation {
  if (!isMutableObject(operation)) throw new PointerError('an operation must be an object');
  const op = own(operation, 'op');
  const path = pointerOf(operation, 'path');
  switch (op) {
    case 'add':
    case 'replace':
    case 'test': {
      const value = own(operation, 'value');
      if (value === undefined) throw new PointerError(`operation "${op}" needs a value`);
      return { op, path, value };
    }
    case 'remove':
      return { op, path };
    case 'move':
    case 'copy':
      return { op, path, from: pointerOf(operation, 'from') };
    default:
      throw new PointerError('op must be one of add, remove, replace, move, copy, test');
  }
}

function pointerOf(operation: JsonObject, name: string): Pointer {
  const text = own(operation, name);
  if (typeof text !== 'string') throw new PointerError(`${name} must be a JSON pointer`);
  return parsePointer(text);
}
