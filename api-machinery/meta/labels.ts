/** Label sets: validation of labels and annotations, and their text form. */

import type { FieldError } from './field-error.ts';
import { annotationSizeErrors, labelValueErrors, qualifiedNameErrors } from './names.ts';

export type LabelSet = Readonly<Record<string, string>>;

/** Validation stops after this number of errors. */
const MAX_ERRORS = 200;

/** Returns the validation errors of a label map at `path`, up to 200. */
export function validateLabels(labels: LabelSet, path: string): readonly FieldError[] {
  const found: FieldError[] = [];
  for (const key of Object.keys(labels)) {
    const text = labels[key] ?? '';
    addInvalid(found, path, key, qualifiedNameErrors(key));
    const values = labelValueErrors(text);
    if (values.length > 0) addInvalid(found, `${path}[${key}]`, text, values);
    if (found.length >= MAX_ERRORS) break;
  }
  return found;
}

/** Returns the validation errors of an annotation map at `path`, up to 200. Keys are compared case-insensitively. */
export function validateAnnotations(annotations: LabelSet, path: string): readonly FieldError[] {
  const found: FieldError[] = [];
  for (const key of Object.keys(annotations)) {
    addInvalid(found, path, key, qualifiedNameErrors(key.toLowerCase()));
    if (found.length >= MAX_ERRORS) break;
  }
  for (const detail of annotationSizeErrors(annotations)) {
    found.push({ kind: 'FieldValueTooLong', field: path, detail });
  }
  return found;
}

function addInvalid(found: FieldError[], field: string, badValue: string, errors: readonly string[]): void {
  for (const detail of errors) found.push({ kind: 'FieldValueInvalid', field, badValue, detail });
}

/** Formats labels as `a=b,c=d` with sorted keys; the empty set becomes the empty text. */
export function formatLabels(labels: LabelSet): string {
  return Object.entries(labels)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, text]) => `${key}=${text}`)
    .join(',');
}
