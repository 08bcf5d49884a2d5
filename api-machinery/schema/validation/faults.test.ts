import { describe, expect, test } from 'vitest';
import {
  boundedFaults,
  createBoundedFaults,
  createFaults,
  type Faults,
  MOST_FAULTS,
  mergeFieldErrors,
} from './faults.ts';

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

describe('boundedFaults', () => {
  const check = (work: (faults: Faults) => void) => () => {
    const faults = createBoundedFaults();
    work(faults);
    return faults.errors;
  };
  const few = check((faults) => faults.required('few'));

  test('has all faults of all checks, in their order', () => {
    const found = boundedFaults([few, check((faults) => faults.forbidden('other', 'why'))]);
    expect(found.map(({ field }) => field)).toEqual(['few', 'other']);
  });

  test('ends a check that finds one after the other, and those after it', () => {
    let looked = 0;
    const many = check((faults) => {
      for (; looked < 1_000_000; looked += 1) faults.required(`items[${looked}]`);
    });
    let isLast = false;
    const last = check(() => {
      isLast = true;
    });
    const found = boundedFaults([few, many, last]);
    expect(found).toHaveLength(MOST_FAULTS);
    expect(found.slice(0, 2).map(({ field }) => field)).toEqual(['few', 'items[0]']);
    expect({ looked, isLast }).toEqual({ looked: MOST_FAULTS - 1, isLast: false });
  });

  test('passes on what a check throws, and bounds nothing afterwards', () => {
    const broken = () => {
      throw new RangeError('a mistake');
    };
    expect(() => boundedFaults([broken])).toThrow('a mistake');
    const faults = createFaults();
    for (let index = 0; index < 2 * MOST_FAULTS; index += 1) faults.required('');
    expect(faults.errors).toHaveLength(2 * MOST_FAULTS);
  });
});
