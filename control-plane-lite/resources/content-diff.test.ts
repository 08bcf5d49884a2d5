import { describe, expect, test } from 'vitest';
import { createFieldErrors } from '#api/schema/validation/field-errors.ts';
import { changedPaths, immutableField, sameContent } from './content-diff.ts';

describe('sameContent', () => {
  test.each([
    [1, 1, true],
    ['1', 1, false],
    [null, undefined, false],
    [{ a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, true],
    [{ a: 1 }, { a: 1, b: undefined }, true],
    [{ a: [] }, {}, true],
    [{}, { a: [] }, true],
    [{ a: {} }, {}, false],
    [{}, { a: 1 }, false],
    [[1, 2], [2, 1], false],
    [[1], [1, 2], false],
    [[], {}, false],
    [{ __proto__: null, a: 1 }, { a: 2 }, false],
    [{ constructor: [] }, {}, true],
    [{ constructor: 1 }, {}, false],
  ])('compares %j with %j: %s', (a, b, same) => {
    expect(sameContent(a, b)).toBe(same);
    expect(sameContent(b, a)).toBe(same);
  });
});

describe('changedPaths', () => {
  test('names the smallest parts that differ', () => {
    const before = { a: { b: 1, c: [{ d: 1 }, { d: 2 }] }, e: [1], f: 1 };
    const after = { a: { b: 2, c: [{ d: 1 }, { d: 3 }] }, e: [1, 2], g: 1 };
    expect(changedPaths(before, after, 'spec')).toEqual([
      'spec.a.b',
      'spec.a.c[1].d',
      'spec.e',
      'spec.f',
      'spec.g',
    ]);
    expect(changedPaths(before, after, 'spec', 1)).toEqual(['spec.a.b']);
    expect(changedPaths(before, before, 'spec')).toEqual([]);
  });
});

describe('immutableField', () => {
  test('finds a change and shows the new value', () => {
    const errors = createFieldErrors();
    immutableField(errors, 'a', 'a', 'spec.same');
    immutableField(errors, 'b', 'a', 'spec.other');
    immutableField(errors, undefined, 'a', 'spec.gone');
    expect(errors.all).toEqual([
      { kind: 'FieldValueInvalid', field: 'spec.other', badValue: 'b', detail: 'field is immutable' },
      { kind: 'FieldValueInvalid', field: 'spec.gone', badValue: null, detail: 'field is immutable' },
    ]);
  });
});
