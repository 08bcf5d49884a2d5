/** Result of reading one value: the value, or all errors in it. */
import type { FieldErrorKind } from '#api/meta/field-error.ts';
import type { ConfigValue } from '../reader.ts';

export interface ValueError {
  readonly kind: FieldErrorKind;
  /** Path inside the value, such as `[0].effect` or `[memory]`; empty for the whole. */
  readonly path: string;
  readonly badValue?: unknown;
  /** The error and the expected value. */
  readonly detail: string;
}

export type Parsed<T = ConfigValue> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'errors'; readonly errors: readonly ValueError[] };

/** Returns a value that was read. */
export function ok<T>(value: T): Parsed<T> {
  return { kind: 'ok', value };
}

/** Returns the error of an invalid value. */
export function invalid(badValue: unknown, detail: string, path = ''): Parsed<never> {
  return { kind: 'errors', errors: [{ kind: 'FieldValueInvalid', path, badValue, detail }] };
}

/** Returns the error of a value of the wrong type. */
export function wrongType(badValue: unknown, detail: string, path = ''): Parsed<never> {
  return { kind: 'errors', errors: [{ kind: 'FieldValueTypeInvalid', path, badValue, detail }] };
}

/** Returns the value, unless there are errors. */
export function unlessErrors<T>(errors: readonly ValueError[], value: T): Parsed<T> {
  return errors.length === 0 ? ok(value) : { kind: 'errors', errors };
}

/** Maps the value that was read. */
export function mapParsed<T, U>(parsed: Parsed<T>, change: (value: T) => U): Parsed<U> {
  return parsed.kind === 'ok' ? ok(change(parsed.value)) : parsed;
}

/** Describes a value of the file: `a string`, `a number`, `a list`. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'true or false';
  return typeof value === 'object' ? 'a mapping' : 'a number';
}

/** A mapping of the file, or `undefined`. */
export function asMapping(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(Object.entries(value));
}

/** A list of the file, or `undefined`. */
export function asList(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}
