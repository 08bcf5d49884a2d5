/** Collector of field errors, shared by the validators of one subject. Independent of kinds. */

import type { Int64 } from '../../kit/int64.ts';
import type { Steps } from '../../kit/steps.ts';
import type { FieldError, FieldErrorKind } from '../../meta/field-error.ts';

export interface FieldErrors {
  readonly all: readonly FieldError[];
  add(kind: FieldErrorKind, field: string, detail: string, badValue?: unknown): void;
  required(field: string, detail?: string): void;
  invalid(field: string, badValue: unknown, detail: string): void;
  /** One error for each reason. */
  invalidAll(field: string, badValue: unknown, reasons: readonly string[]): void;
  unsupported(field: string, badValue: unknown, supported: readonly string[]): void;
  duplicate(field: string, badValue: unknown): void;
  forbidden(field: string, detail: string): void;
  notFound(field: string, badValue: unknown, detail: string): void;
  /** Reports an error for a negative value. */
  nonNegative(field: string, value: Int64 | undefined): void;
  /** Reports an error unless the value is positive; the caller handles zero and absent values unless they are
   *  given. */
  positive(field: string, value: Int64 | undefined): void;
}

/** Maximum number of errors that are reported for one object. */
export const MAX_FIELD_ERRORS = 200;

/** A bounded collector has all that are reported: nothing else of the object needs a look. */
class LimitReached extends Error {
  override readonly name = 'LimitReached';
  readonly errors: readonly FieldError[];
  constructor(errors: readonly FieldError[]) {
    super('more errors than are reported');
    this.errors = errors;
  }
}

export type FieldCheck = () => readonly FieldError[];

/** The errors that these checks find, one check after the other, until there are `MAX_FIELD_ERRORS`: then the one that is
 *  at work is ended as well. */
export function boundedFieldErrors(checks: readonly FieldCheck[]): readonly FieldError[] {
  const found: FieldError[] = [];
  for (const check of checks) {
    addErrors(found, check);
    if (found.length >= MAX_FIELD_ERRORS) break;
  }
  return found;
}

/** The same of a large object: each check is a step. */
export function* boundedFieldErrorsSteps(checks: readonly FieldCheck[]): Steps<readonly FieldError[]> {
  const found: FieldError[] = [];
  for (const check of checks) {
    addErrors(found, check);
    if (found.length >= MAX_FIELD_ERRORS) break;
    yield;
  }
  return found;
}

function addErrors(found: FieldError[], check: FieldCheck): void {
  for (const fieldError of errorsOf(check)) if (found.length < MAX_FIELD_ERRORS) found.push(fieldError);
}

function errorsOf(check: FieldCheck): readonly FieldError[] {
  try {
    return check();
  } catch (thrown) {
    if (!(thrown instanceof LimitReached)) throw thrown;
    return thrown.errors;
  }
}

/** A class, because every object that is written needs one, and most have no error. */
class CollectedFieldErrors implements FieldErrors {
  readonly all: FieldError[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  add(kind: FieldErrorKind, field: string, detail: string, badValue?: unknown): void {
    this.all.push({ kind, field, detail, ...(badValue === undefined ? {} : { badValue }) });
    if (this.all.length >= this.#most) throw new LimitReached(this.all);
  }

  required(field: string, detail = ''): void {
    this.add('FieldValueRequired', field, detail);
  }

  invalid(field: string, badValue: unknown, detail: string): void {
    this.add('FieldValueInvalid', field, detail, badValue);
  }

  invalidAll(field: string, badValue: unknown, reasons: readonly string[]): void {
    for (const reason of reasons) this.invalid(field, badValue, reason);
  }

  unsupported(field: string, badValue: unknown, supported: readonly string[]): void {
    const words = supported.map((word) => JSON.stringify(word)).join(', ');
    this.add('FieldValueNotSupported', field, `supported values: ${words}`, badValue);
  }

  duplicate(field: string, badValue: unknown): void {
    this.add('FieldValueDuplicate', field, '', badValue);
  }

  forbidden(field: string, detail: string): void {
    this.add('FieldValueForbidden', field, detail);
  }

  notFound(field: string, badValue: unknown, detail: string): void {
    this.add('FieldValueNotFound', field, detail, badValue);
  }

  nonNegative(field: string, value: Int64 | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must be greater than or equal to 0');
  }

  positive(field: string, value: Int64 | undefined): void {
    if (value !== undefined && value <= 0) this.invalid(field, value, 'must be greater than 0');
  }
}

/** Takes any number: for what has few fields, and for checks that take turns. */
export const createFieldErrors = (): FieldErrors => new CollectedFieldErrors(Number.POSITIVE_INFINITY);

/** Ends the check with the `MAX_FIELD_ERRORS`th error, which only `boundedFieldErrors` expects. */
export const createBoundedFieldErrors = (): FieldErrors => new CollectedFieldErrors(MAX_FIELD_ERRORS);

const isAtOrBelow = (field: string, ancestor: string): boolean =>
  field === ancestor || field.startsWith(`${ancestor}.`) || field.startsWith(`${ancestor}[`);

/** Returns the earlier errors, then those later ones that are not merely their consequence: no error is
 *  repeated for a field, and none is reported below a field that could not be decoded. */
export function mergeFieldErrors(
  earlier: readonly FieldError[],
  later: readonly FieldError[],
): readonly FieldError[] {
  const broken = earlier.filter((error) => error.kind !== 'FieldUnknown');
  const news = later.filter(
    (error) => !broken.some((known) => known.field !== '' && isAtOrBelow(error.field, known.field)),
  );
  return [...earlier, ...news];
}
