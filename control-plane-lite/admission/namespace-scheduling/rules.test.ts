import { describe, expect, test } from 'vitest';
import type { Toleration } from '#api/gen/core-v1.ts';
import { mergeTolerations, parseNodeSelector, parseTolerations, tolerates } from './rules.ts';

const gpu: Toleration = { key: 'gpu', operator: 'Equal', value: 'a', effect: 'NoSchedule' };

describe('tolerates', () => {
  test.each<[string, Toleration, Toleration, boolean]>([
    ['the same', gpu, { ...gpu }, true],
    ['another value', gpu, { ...gpu, value: 'b' }, false],
    ['any value', { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }, gpu, true],
    ['any effect', { key: 'gpu', operator: 'Exists' }, gpu, true],
    ['another effect', { key: 'gpu', operator: 'Exists', effect: 'NoExecute' }, gpu, false],
    ['everything', { operator: 'Exists' }, gpu, true],
    ['another key', { key: 'disk', operator: 'Exists' }, gpu, false],
    ['all values by one', gpu, { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }, false],
    [
      'a shorter time',
      { key: 'x', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 },
      { key: 'x', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 },
      true,
    ],
    [
      'no end',
      { key: 'x', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 10 },
      { key: 'x', operator: 'Exists', effect: 'NoExecute' },
      false,
    ],
  ])('%s', (_, wider, narrower, expected) => expect(tolerates(wider, narrower)).toBe(expected));
});

test('mergeTolerations leaves out covered tolerations and duplicates', () => {
  const any: Toleration = { key: 'gpu', operator: 'Exists' };
  expect(mergeTolerations([gpu, any, { ...any }, { key: 'y', operator: 'Exists' }])).toEqual([
    any,
    { key: 'y', operator: 'Exists' },
  ]);
});

test.each([
  ['a=b,c=d', { a: 'b', c: 'd' }],
  ['a=', { a: '' }],
  ['a', undefined],
  ['=b', undefined],
  ['a=b=c', undefined],
])('parseNodeSelector %j', (text, expected) => expect(parseNodeSelector(text)).toEqual(expected));

test.each([
  ['[{"key":"a","operator":"Exists"}]', 1],
  ['{}', undefined],
  ['[{"key":1}]', undefined],
  ['[', undefined],
])('parseTolerations %j', (text, count) => expect(parseTolerations(text)?.length).toBe(count));
