/** Label sets: faults of labels and annotations, and their text form. */

import type { FieldError } from './field-error.ts';
import { annotationSizeFaults, labelValueFaults, qualifiedNameFaults } from './names.ts';

export type LabelSet = Readonly<Record<string, string>>;

/** Every fault of a label map that stands at `path`. */
export function validateLabels(labels: LabelSet, path: string): readonly FieldError[] {
  return Object.entries(labels).flatMap(([key, text]) => [
    ...invalid(path, key, qualifiedNameFaults(key)),
    ...invalid(`${path}[${key}]`, text, labelValueFaults(text)),
  ]);
}

/** Every fault of an annotation map that stands at `path`. Keys are compared without regard to case. */
export function validateAnnotations(annotations: LabelSet, path: string): readonly FieldError[] {
  const keys = Object.keys(annotations).flatMap((key) =>
    invalid(path, key, qualifiedNameFaults(key.toLowerCase())),
  );
  const size = annotationSizeFaults(annotations).map(
    (detail): FieldError => ({ kind: 'FieldValueTooLong', field: path, detail }),
  );
  return [...keys, ...size];
}

const invalid = (field: string, badValue: string, faults: readonly string[]): readonly FieldError[] =>
  faults.map((detail) => ({ kind: 'FieldValueInvalid', field, badValue, detail }));

/** `a=b,c=d` with sorted keys; the empty set is the empty text. */
export function formatLabels(labels: LabelSet): string {
  return Object.entries(labels)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, text]) => `${key}=${text}`)
    .join(',');
}
