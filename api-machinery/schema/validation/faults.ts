/** A collector of field errors: validators of one subject share it. Nothing here knows a kind. */
import type { FieldError, FieldErrorKind } from '../../meta/field-error.ts';

export interface Faults {
  readonly errors: readonly FieldError[];
  add(kind: FieldErrorKind, field: string, detail: string, badValue?: unknown): void;
  required(field: string, detail?: string): void;
  invalid(field: string, badValue: unknown, detail: string): void;
  /** One error for each reason. */
  invalidAll(field: string, badValue: unknown, reasons: readonly string[]): void;
  unsupported(field: string, badValue: unknown, supported: readonly string[]): void;
  duplicate(field: string, badValue: unknown): void;
  forbidden(field: string, detail: string): void;
  notFound(field: string, badValue: unknown, detail: string): void;
  /** Below zero is an error. */
  nonNegative(field: string, value: number | undefined): void;
  /** Above zero or an error; zero and absent are the caller's matter unless given. */
  positive(field: string, value: number | undefined): void;
}

/** A class, because every object that is written needs one, and most have no fault. */
class CollectedFaults implements Faults {
  readonly errors: FieldError[] = [];

  add(kind: FieldErrorKind, field: string, detail: string, badValue?: unknown): void {
    this.errors.push({ kind, field, detail, ...(badValue === undefined ? {} : { badValue }) });
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

  nonNegative(field: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must be greater than or equal to 0');
  }

  positive(field: string, value: number | undefined): void {
    if (value !== undefined && value <= 0) this.invalid(field, value, 'must be greater than 0');
  }
}

export const createFaults = (): Faults => new CollectedFaults();

const isAtOrBelow = (field: string, ancestor: string): boolean =>
  field === ancestor || field.startsWith(`${ancestor}.`) || field.startsWith(`${ancestor}[`);

/** Earlier errors, then those later ones that are not merely their consequence: nothing is said twice of a
 *  field, nor anything of what lies below a field that could not be read. */
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
