/** A validation error: field path, kind of error, bad value, and expectation.
 *  Validation returns all errors, never only the first. */

export type FieldErrorKind =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueDuplicate'
  | 'FieldValueForbidden'
  | 'FieldValueTypeInvalid'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueNotFound'
  /** A field that the type does not have, or a duplicate key. */
  | 'FieldUnknown';

export interface FieldError {
  readonly kind: FieldErrorKind;
  /** Path such as `spec.containers[0].ports[1].hostPort` or `metadata.labels[app]`. */
  readonly field: string;
  /** The invalid value; omitted if it is absent or must not be shown. */
  readonly badValue?: unknown;
  /** What is wrong, and what is expected, as a phrase. */
  readonly detail: string;
}

const LABELS: Readonly<Record<FieldErrorKind, string>> = {
  FieldValueRequired: 'Required value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueNotFound: 'Not found',
  FieldUnknown: 'Unknown field',
};

const MAX_SHOWN_LENGTH = 200;

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > MAX_SHOWN_LENGTH ? `${text.slice(0, MAX_SHOWN_LENGTH)}…` : text;
}

/** Formats the error without its field: `Required value: …`. */
export function formatErrorDetail(error: FieldError): string {
  const value = error.badValue === undefined ? '' : `: ${formatValue(error.badValue)}`;
  const detail = error.detail === '' ? '' : `: ${error.detail}`;
  return `${LABELS[error.kind]}${value}${detail}`;
}

/** Formats the error as upstream does: `spec.containers[0].image: Required value: …`. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${formatErrorDetail(error)}`;
}
