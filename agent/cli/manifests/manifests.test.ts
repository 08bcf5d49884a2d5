import { array, assert, constantFrom, jsonValue, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { CommandError } from '../errors.ts';
import { unifiedDiff } from './line-diff.ts';
import { jsonPatch, mergePatch } from './merge-patch.ts';
import { nameKey, readObjects } from './objects.ts';

describe('unified diffs', () => {
  test('shows three lines of context and the lines of each hunk', () => {
    const left = Array.from({ length: 30 }, (_, index) => `line ${index}\n`).join('');
    const right = left.replace('line 2\n', '').replace('line 20\n', 'line XX\nline YY\n');
    expect(
      unifiedDiff(left, right)
        .split('\n')
        .filter((line) => /^[@+-]/.test(line)),
    ).toEqual(['@@ -1,6 +1,5 @@', '-line 2', '@@ -18,7 +17,8 @@', '-line 20', '+line XX', '+line YY']);
  });

  test('a new text consists of added lines', () => {
    expect(unifiedDiff('', 'a\nb\n')).toBe('@@ -0,0 +1,2 @@\n+a\n+b\n');
    expect(unifiedDiff('a\n', 'a\n')).toBe('');
  });

  test('applied to the first text, it gives the second', () => {
    const texts = array(constantFrom('a', 'b', 'c', 'd'), { maxLength: 40 });
    assert(
      property(texts, texts, (before, after) => {
        const [left, right] = [before, after].map((lines) => lines.map((line) => `${line}\n`).join(''));
        expect(applyDiff(before, unifiedDiff(left ?? '', right ?? ''))).toEqual(after);
      }),
    );
  });
});

/** Applies a unified diff as the program `patch` does, without fuzz. */
function applyDiff(before: readonly string[], text: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of text.split('\n').slice(0, -1)) {
    const [, start = '', size = ''] = /^@@ -(\d+),(\d+) /.exec(line) ?? [];
    if (start !== '') {
      const next = size === '0' ? Number(start) : Number(start) - 1;
      result.push(...before.slice(at, next));
      at = next;
    } else if (line.startsWith('+')) result.push(line.slice(1));
    else {
      if (before[at] !== line.slice(1)) throw new Error(`${line} is not at line ${at + 1}`);
      if (line.startsWith(' ')) result.push(line.slice(1));
      at += 1;
    }
  }
  return [...result, ...before.slice(at)];
}

describe('merge patches', () => {
  // Source: RFC 7386, appendix A.
  test.each([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'foo' }, null, null],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j is %j', (target, patch, result) => {
    expect(mergePatch(target, patch)).toEqual(result);
  });

  test('a patch without nulls is idempotent', () => {
    const withoutNulls = jsonValue().filter((value) => !JSON.stringify(value).includes('null'));
    assert(
      property(jsonValue(), withoutNulls, (target, patch) => {
        const once = mergePatch(target, patch);
        expect(mergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  test('a member named __proto__ is a member', () => {
    const patch: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(JSON.stringify(mergePatch({}, patch))).toBe('{"__proto__":{"a":1}}');
  });
});

describe('JSON patches', () => {
  test.each([
    [{ a: [1, 2] }, [{ op: 'add', path: '/a/1', value: 9 }], { a: [1, 9, 2] }],
    [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
    [{ a: [1, 2] }, [{ op: 'remove', path: '/a/0' }], { a: [2] }],
    [{ a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: 2 }], { a: { b: 2 } }],
    [
      { 'a/b': 1, '~': 2 },
      [
        { op: 'remove', path: '/a~1b' },
        { op: 'replace', path: '/~0', value: 3 },
      ],
      { '~': 3 },
    ],
    [{ a: 1 }, [{ op: 'move', from: '/a', path: '/b' }], { b: 1 }],
    [{ a: [1] }, [{ op: 'copy', from: '/a', path: '/b' }], { a: [1], b: [1] }],
    [
      { a: 1 },
      [
        { op: 'test', path: '/a', value: 1 },
        { op: 'replace', path: '', value: [] },
      ],
      [],
    ],
  ])('%j with %j is %j', (target, patch, result) => {
    expect(jsonPatch(target, patch)).toEqual(result);
  });

  test.each([
    [{}, { op: 'add' }, /list of operations/],
    [{}, [{ op: 'remove', path: '/a' }], /operation 0/],
    [{ a: 1 }, [{ op: 'test', path: '/a', value: 2 }], /operation 0/],
    [{ a: [] }, [{ op: 'replace', path: '/a/0', value: 2 }], /operation 0/],
    [{ a: [] }, [{ op: 'add', path: '/a/01', value: 2 }], /operation 0/],
    [{}, [{ op: 'add', path: 'a', value: 1 }], /operation 0/],
    [{}, [{ op: 'add', path: '/a/b', value: 1 }], /operation 0/],
    [{}, [{ op: 'increase', path: '/a' }], /operation 0/],
  ])('%j with %j is an error', (target, patch, message) => {
    expect(() => jsonPatch(target, patch)).toThrow(message);
    expect(() => jsonPatch(target, patch)).toThrow(CommandError);
  });
});

describe('objects of manifests', () => {
  const read = (text: string) =>
    readObjects({ name: 'x.yaml', text }, VOCABULARIES.plat, {
      signal: new AbortController().signal,
      nowMs: 0,
    });

  test('have places, names and every error', async () => {
    const objects = await read(
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: shop}\nspec: {containers: [{name: X}]}\n---\nkind: What\n',
    );
    expect(objects.map(({ place, name }) => [place, name === undefined ? '' : nameKey(name)])).toEqual([
      ['x.yaml, document 1', 'ConfigMap default/a'],
      ['x.yaml, document 2', 'Pod shop/b'],
      ['x.yaml, document 3', ''],
    ]);
    expect(objects.map(({ errors }) => errors.length > 0)).toEqual([false, true, true]);
    expect(objects[1]?.errors.map(({ field }) => field)).toContain('spec.containers[0].image');
  });
});
