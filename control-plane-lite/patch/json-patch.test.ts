import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copyJson } from '#api/codec/copy-json.ts';
import { finish } from '#api/kit/steps.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { MAX_COPY_GROWTH, applyJsonPatch as stepsOfPatch } from './json-patch.ts';
import { MAX_OPERATIONS, parseJsonPatch } from './json-patch-operations.ts';
import { formatPointer, parsePointer } from './json-pointer.ts';

const applyJsonPatch = (document: unknown, patch: unknown): unknown => finish(stepsOfPatch(document, patch));

function failure(work: () => unknown): { reason: string; code: number; message: string } {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError)
      return { reason: error.reason, code: error.code, message: error.message };
    throw error;
  }
  throw new Error('it did not fail');
}

describe('applyJsonPatch', () => {
  // RFC 6902 §4 and appendix A.
  test.each<[string, unknown, unknown, unknown]>([
    ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['replaces a member that add finds', { a: 1 }, [{ op: 'add', path: '/a', value: 2 }], { a: 2 }],
    ['inserts into a list', { a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
    ['appends with the index after the last', [1], [{ op: 'add', path: '/1', value: 2 }], [1, 2]],
    ['appends with -', { a: [1] }, [{ op: 'add', path: '/a/-', value: [2] }], { a: [1, [2]] }],
    ['removes a member', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['removes an item', { a: [1, 2, 3] }, [{ op: 'remove', path: '/a/1' }], { a: [1, 3] }],
    [
      'replaces a member',
      { a: { b: 1 } },
      [{ op: 'replace', path: '/a/b', value: null }],
      { a: { b: null } },
    ],
    ['makes a missing member', { a: {} }, [{ op: 'replace', path: '/a/b', value: 1 }], { a: { b: 1 } }],
    ['replaces an item', [1, 2], [{ op: 'replace', path: '/0', value: 9 }], [9, 2]],
    ['replaces the whole', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    ['adds the whole', { a: 1 }, [{ op: 'add', path: '', value: { b: 2 } }], { b: 2 }],
    [
      'moves a value',
      { a: { x: 1 }, b: {} },
      [{ op: 'move', from: '/a/x', path: '/b/y' }],
      { a: {}, b: { y: 1 } },
    ],
    ['moves an item', [1, 2, 3], [{ op: 'move', from: '/0', path: '/2' }], [2, 3, 1]],
    ['moves a value onto itself', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    [
      'copies a value',
      { a: { x: [1] } },
      [{ op: 'copy', from: '/a/x', path: '/b' }],
      { a: { x: [1] }, b: [1] },
    ],
    [
      'tests values whatever their order',
      { a: { x: 1, y: [2] } },
      [{ op: 'test', path: '/a', value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    ['tests the whole', [1], [{ op: 'test', path: '', value: [1] }], [1]],
    ['reads ~1 as a slash', { 'a/b': 1 }, [{ op: 'replace', path: '/a~1b', value: 2 }], { 'a/b': 2 }],
    ['reads ~01 as ~1', { '~1': 1 }, [{ op: 'replace', path: '/~01', value: 2 }], { '~1': 2 }],
    ['reads an empty token as an empty name', { '': 1 }, [{ op: 'replace', path: '/', value: 2 }], { '': 2 }],
    ['ignores members that operations do not have', { a: 1 }, [{ op: 'remove', path: '/a', extra: 1 }], {}],
    [
      'goes on from what it made',
      {},
      [
        { op: 'add', path: '/a', value: {} },
        { op: 'add', path: '/a/b', value: 1 },
      ],
      { a: { b: 1 } },
    ],
    ['does nothing for an empty patch', { a: 1 }, [], { a: 1 }],
  ])('%s', (_, document, patch, result) => {
    const [documentBefore, patchBefore] = [copyJson(document), copyJson(patch)];
    expect(applyJsonPatch(document, patch)).toEqual(result);
    expect([document, patch]).toEqual([documentBefore, patchBefore]);
  });

  test.each<[string, unknown, unknown]>([
    ['a path that is not there', { a: 1 }, [{ op: 'remove', path: '/b' }]],
    ['a parent that is not there', { a: 1 }, [{ op: 'add', path: '/b/c', value: 1 }]],
    ['a parent that is a scalar', { a: 1 }, [{ op: 'add', path: '/a/c', value: 1 }]],
    ['a missing item to replace', [], [{ op: 'replace', path: '/0', value: 1 }]],
    ['a missing member of nothing to replace', {}, [{ op: 'replace', path: '/a/b', value: 1 }]],
    ['a member of a text to replace', { a: 'b' }, [{ op: 'replace', path: '/a/b', value: 1 }]],
    ['an index beyond the end', [1], [{ op: 'add', path: '/3', value: 1 }]],
    ['an index with a leading zero', [1, 2], [{ op: 'remove', path: '/01' }]],
    ['a negative index', [1, 2], [{ op: 'remove', path: '/-1' }]],
    ['the place after the last of a removal', [1], [{ op: 'remove', path: '/-' }]],
    ['a test that fails', { a: 1 }, [{ op: 'test', path: '/a', value: '1' }]],
    ['a test of what is not there', {}, [{ op: 'test', path: '/a', value: null }]],
    ['a move into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }]],
    ['a copy of nothing', {}, [{ op: 'copy', from: '/a', path: '/b' }]],
    ['an inherited member', {}, [{ op: 'copy', from: '/constructor', path: '/b' }]],
  ])('rejects %s as Invalid', (_, document, patch) => {
    const { reason, code, message } = failure(() => applyJsonPatch(document, patch));
    expect([reason, code]).toEqual(['Invalid', 422]);
    expect(message).toMatch(/^the server rejected our request due to an error in our request: ./);
  });

  test.each<[string, unknown]>([
    ['an object', {}],
    ['null', null],
    ['an operation that is no object', [1]],
    ['an unknown operation', [{ op: 'merge', path: '/a' }]],
    ['no path', [{ op: 'remove' }]],
    ['a path without slash', [{ op: 'remove', path: 'a' }]],
    ['a lone tilde', [{ op: 'remove', path: '/a~2' }]],
    ['add without value', [{ op: 'add', path: '/a' }]],
    ['move without from', [{ op: 'move', path: '/a' }]],
  ])('rejects %s as BadRequest', (_, patch) => {
    expect(failure(() => applyJsonPatch({ a: 1 }, patch))).toMatchObject({ reason: 'BadRequest', code: 400 });
  });

  test('rejects more than 10,000 operations', () => {
    const operations = (count: number): unknown[] =>
      Array.from({ length: count }, () => ({ op: 'test', path: '', value: 1 }));
    expect(parseJsonPatch(operations(MAX_OPERATIONS))).toHaveLength(10_000);
    const { code, message } = failure(() => applyJsonPatch(1, operations(MAX_OPERATIONS + 1)));
    expect(code).toBe(413);
    expect(message).toBe(
      'Request entity is too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
  });

  test('lets copies grow the document only so far', () => {
    const patch = Array.from({ length: 60 }, (_, index) => ({ op: 'copy', from: '', path: `/c${index}` }));
    const { code, message } = failure(() => applyJsonPatch({ a: 'x'.repeat(100) }, patch));
    expect(code).toBe(422);
    expect(message).toContain(`exceeding the limit ${MAX_COPY_GROWTH}`);
  });

  test('lets copies nest the document only so deep', () => {
    const patch = Array.from({ length: 120 }, () => ({ op: 'copy', from: '', path: '/a' }));
    expect(failure(() => applyJsonPatch({ a: {} }, patch)).message).toContain('nested more than 100 levels');
  });

  test('leaves prototypes alone', () => {
    const patch: unknown = JSON.parse(
      '[{"op":"add","path":"/__proto__","value":{"polluted":true}},{"op":"add","path":"/constructor","value":1}]',
    );
    const result = applyJsonPatch({}, patch);
    expect(Object.keys(result as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(
      failure(() => applyJsonPatch({}, [{ op: 'add', path: '/__proto__/polluted', value: true }])).code,
    ).toBe(422);
  });

  test('a move is a removal and an addition', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.string(), fc.string(), (object, a, b) => {
        const document = copyJson({ ...object, [a]: 1 });
        const [from, path] = [formatPointer([a]), formatPointer([b])];
        const moved = applyJsonPatch(document, [{ op: 'move', from, path }]);
        const expected = applyJsonPatch(document, [
          { op: 'remove', path: from },
          { op: 'add', path, value: 1 },
        ]);
        expect(moved).toEqual(expected);
      }),
    );
  });

  test('a copied value passes its test', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const patch = [
          { op: 'add', path: '/a', value },
          { op: 'copy', from: '/a', path: '/b' },
          { op: 'test', path: '/b', value },
        ];
        expect(applyJsonPatch({}, patch)).toHaveProperty('b');
      }),
    );
  });
});

describe('parsePointer', () => {
  test('reads the output of formatPointer', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (tokens) => {
        expect(parsePointer(formatPointer(tokens))).toEqual(tokens);
      }),
    );
  });
});
