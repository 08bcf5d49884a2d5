/** Differences between two states of an object with upstream's semantic equality: an empty list equals an
 *  absent one. Pure. */

import { isMutableObject } from '#api/kit/object.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { own } from '../patch/json-value.ts';

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Whether two values have the same content; the order of members doesn't matter. */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) return false;
    for (let index = 0; index < a.length; index += 1) if (!sameContent(a[index], b[index])) return false;
    return true;
  }
  if (!isMutableObject(a) || !isMutableObject(b)) {
    return (a === undefined && isEmptyList(b)) || (b === undefined && isEmptyList(a));
  }
  for (const name in a) if (!sameContent(a[name], own(b, name))) return false;
  for (const name in b) if (own(a, name) === undefined && !sameContent(undefined, b[name])) return false;
  return true;
}

/** Paths, below `path`, of the smallest parts that differ; list items are named by index. At most `limit`. */
export function changedPaths(a: unknown, b: unknown, path: string, limit = 5): readonly string[] {
  const found: string[] = [];
  collect(a, b, path, found, limit);
  return found;
}

function collect(a: unknown, b: unknown, path: string, found: string[], limit: number): void {
  if (found.length >= limit || sameContent(a, b)) return;
  if (Array.isArray(a) && Array.isArray(b) && a.length === b.length) {
    for (const [index, item] of a.entries()) collect(item, b[index], `${path}[${index}]`, found, limit);
  } else if (isMutableObject(a) && isMutableObject(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      collect(a[name], b[name], `${path}.${name}`, found, limit);
    }
  } else found.push(path);
}

/** Reports an error if an immutable field has changed. */
export function immutableField(errors: FieldErrors, value: unknown, old: unknown, path: string): void {
  if (!sameContent(value, old)) errors.invalid(path, value ?? null, 'field is immutable');
}
