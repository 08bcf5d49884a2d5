/** The outcome of reading one value: the value, or every fault in it. */
import type { FieldErrorKind } from '#api/meta/field-error.ts';
import type { ConfigValue } from '../reader.ts';

export interface ValueFault {
  readonly kind: FieldErrorKind;
  /** Where inside the value, such as `[0].effect` or `[memory]`; empty for the whole. */
  readonly path: string;
  readonly badValue?: unknown;
  /** What is wrong and what would be right. */
  readonly detail: string;
}

export type Parsed<T = ConfigValue> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'faults'; readonly faults: readonly ValueFault[] };

/** A value that was read. */
export function ok<T>(value: T): Parsed<T> {
  return { kind: 'ok', value };
}

/** A value of which something is invalid. */
export function invalid(badValue: unknown, detail: string, path = ''): Parsed<never> {
  return { kind: 'faults', faults: [{ kind: 'FieldValueInvalid', path, badValue, detail }] };
}

/** A value of the wrong type. */
export function wrongType(badValue: unknown, detail: string, path = ''): Parsed<never> {
  return { kind: 'faults', faults: [{ kind: 'FieldValueTypeInvalid', path, badValue, detail }] };
}

/** The value, unless there are faults. */
export function unlessFaults<T>(faults: readonly ValueFault[], value: T): Parsed<T> {
  return faults.length === 0 ? ok(value) : { kind: 'faults', faults };
}

/** The value read, changed. */
export function mapParsed<T, U>(parsed: Parsed<T>, change: (value: T) => U): Parsed<U> {
  return parsed.kind === 'ok' ? ok(change(parsed.value)) : parsed;
}

/** `a text`, `a number`, `a list`: what a value of the file is, in words. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'string') return 'a text';
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
