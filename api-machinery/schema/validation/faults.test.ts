import { describe, expect, test } from 'vitest';
import { createFaults, mergeFieldErrors } from './faults.ts';

const error = (field: string, kind: 'FieldValueInvalid' | 'FieldUnknown' = 'FieldValueInvalid') => ({
  kind,
  field,
  detail: '',
});

describe('mergeFieldErrors', () => {
  test.each([
    ['another field', 'spec.a', 'spec.b', 2],
    ['the same field', 'spec.a', 'spec.a', 1],
    ['a member of it', 'spec.a', 'spec.a.b', 1],
    ['an item of it', 'spec.a', 'spec.a[0]', 1],
    ['its parent', 'spec.a.b', 'spec.a', 2],
    ['a longer name', 'spec.a', 'spec.ab', 2],
  ])('keeps %s apart', (_, earlier, later, count) => {
    expect(mergeFieldErrors([error(earlier)], [error(later)])).toHaveLength(count);
  });

  test('lets an unknown member hide nothing', () => {
    expect(mergeFieldErrors([error('spec.a', 'FieldUnknown')], [error('spec.a')])).toHaveLength(2);
  });
});

describe('createFaults', () => {
  test('collects in order, without values that are absent', () => {
    const faults = createFaults();
    faults.required('a');
    faults.unsupported('b', 'x', ['y', 'z']);
    faults.nonNegative('c', 0);
    faults.nonNegative('d', -1);
    faults.positive('e', 0);
    faults.positive('f', undefined);
    expect(faults.errors).toEqual([
      { kind: 'FieldValueRequired', field: 'a', detail: '' },
      { kind: 'FieldValueNotSupported', field: 'b', badValue: 'x', detail: 'supported values: "y", "z"' },
      { kind: 'FieldValueInvalid', field: 'd', badValue: -1, detail: 'must be greater than or equal to 0' },
      { kind: 'FieldValueInvalid', field: 'e', badValue: 0, detail: 'must be greater than 0' },
    ]);
  });
});
