import { describe, expect, test } from 'vitest';
import {
  boundedFieldErrors,
  createBoundedFieldErrors,
  createFieldErrors,
  type FieldErrors,
  MAX_FIELD_ERRORS,
  mergeFieldErrors,
} from './field-errors.ts';

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

  test('does not hide errors behind an unknown member', () => {
    expect(mergeFieldErrors([error('spec.a', 'FieldUnknown')], [error('spec.a')])).toHaveLength(2);
  });
});

describe('createFieldErrors', () => {
  test('collects in order, without values that are absent', () => {
    const errors = createFieldErrors();
    errors.required('a');
    errors.unsupported('b', 'x', ['y', 'z']);
    errors.nonNegative('c', 0);
    errors.nonNegative('d', -1);
    errors.positive('e', 0);
    errors.positive('f', undefined);
    expect(errors.all).toEqual([
      { kind: 'FieldValueRequired', field: 'a', detail: '' },
      { kind: 'FieldValueNotSupported', field: 'b', badValue: 'x', detail: 'supported values: "y", "z"' },
      { kind: 'FieldValueInvalid', field: 'd', badValue: -1, detail: 'must be greater than or equal to 0' },
      { kind: 'FieldValueInvalid', field: 'e', badValue: 0, detail: 'must be greater than 0' },
    ]);
  });
});

describe('boundedFieldErrors', () => {
  const check = (work: (errors: FieldErrors) => void) => () => {
    const errors = createBoundedFieldErrors();
    work(errors);
    return errors.all;
  };
  const few = check((errors) => errors.required('few'));

  test('has all errors of all checks, in their order', () => {
    const found = boundedFieldErrors([few, check((errors) => errors.forbidden('other', 'why'))]);
    expect(found.map(({ field }) => field)).toEqual(['few', 'other']);
  });

  test('ends a check that finds one after the other, and those after it', () => {
    let looked = 0;
    const many = check((errors) => {
      for (; looked < 1_000_000; looked += 1) errors.required(`items[${looked}]`);
    });
    let isLast = false;
    const last = check(() => {
      isLast = true;
    });
    const found = boundedFieldErrors([few, many, last]);
    expect(found).toHaveLength(MAX_FIELD_ERRORS);
    expect(found.slice(0, 2).map(({ field }) => field)).toEqual(['few', 'items[0]']);
    expect({ looked, isLast }).toEqual({ looked: MAX_FIELD_ERRORS - 1, isLast: false });
  });

  test('passes on the exception of a check, and bounds nothing afterwards', () => {
    const broken = () => {
      throw new RangeError('a mistake');
    };
    expect(() => boundedFieldErrors([broken])).toThrow('a mistake');
    const errors = createFieldErrors();
    for (let index = 0; index < 2 * MAX_FIELD_ERRORS; index += 1) errors.required('');
    expect(errors.all).toHaveLength(2 * MAX_FIELD_ERRORS);
  });
});
