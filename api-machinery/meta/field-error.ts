/** One fault found in an object: where, what kind, the bad value, and what would be right.
 *  Validation returns every fault it finds, never only the first. */

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
  /** A field that the type does not have, or a key given twice. */
  | 'FieldUnknown';

export interface FieldError {
  readonly kind: FieldErrorKind;
  /** Path such as `spec.containers[0].ports[1].hostPort` or `metadata.labels[app]`. */
  readonly field: string;
  /** The value found; left out where it is absent or must not be shown. */
  readonly badValue?: unknown;
  /** What is wrong with it and what would be right, as a phrase. */
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

const LONGEST_SHOWN = 200;

function formatValue(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}…` : text;
}

/** The fault without its field: `Required value: …`. */
export function formatFault(error: FieldError): string {
  const value = error.badValue === undefined ? '' : `: ${formatValue(error.badValue)}`;
  const detail = error.detail === '' ? '' : `: ${error.detail}`;
  return `${LABELS[error.kind]}${value}${detail}`;
}

/** `spec.containers[0].image: Required value: …`, the form that users of the field know. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${formatFault(error)}`;
}
