import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { finish } from '#api/kit/steps.ts';
import { conflictError, pathsOf } from './conflicts.ts';
import {
  difference,
  differenceBeneath,
  EMPTY_SET,
  type FieldSet,
  hasPath,
  intersection,
  intersects,
  isEmptySet,
  sameSet,
  setOfPaths,
  union,
} from './field-set.ts';
import { differenceSteps, intersectionSteps } from './field-set-steps.ts';
import { FieldsV1Error, parseFieldsV1 } from './fields-v1.ts';

type Paths = readonly (readonly string[])[];

const element = fc.constantFrom('f:a', 'f:b', 'f:c', 'k:{"name":"x"}', 'v:1', 'f:constructor');
const paths = fc.array(fc.array(element, { minLength: 1, maxLength: 4 }), { maxLength: 8 });

const keyOf = (path: readonly string[]): string => path.join(' ');
const keysOf = (set: FieldSet): string[] => pathsOf(set).map(keyOf).sort();
const keys = (list: Paths): Set<string> => new Set(list.map(keyOf));

describe('sets of fields', () => {
  test('hold just the paths they were made of', () => {
    fc.assert(
      fc.property(paths, (list) => {
        expect(keysOf(setOfPaths(list))).toEqual([...keys(list)].sort());
      }),
    );
  });

  test('unite, intersect and subtract as sets of paths do', () => {
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [setOfPaths(left), setOfPaths(right)];
        const [x, y] = [keys(left), keys(right)];
        expect(keysOf(union(a, b))).toEqual([...x.union(y)].sort());
        expect(keysOf(intersection(a, b))).toEqual([...x.intersection(y)].sort());
        expect(finish(intersectionSteps(a, b))).toEqual(intersection(a, b));
        expect(finish(differenceSteps(a, b))).toEqual(difference(a, b));
        expect(keysOf(difference(a, b))).toEqual([...x.difference(y)].sort());
        expect(intersects(a, b)).toBe(!x.isDisjointFrom(y));
        const beneath = left.filter(
          (path) => !right.some((cut) => cut.every((step, at) => path[at] === step)),
        );
        expect(keysOf(differenceBeneath(a, b))).toEqual([...keys(beneath)].sort());
        expect(sameSet(a, b)).toBe(x.symmetricDifference(y).size === 0);
      }),
    );
  });

  test.each([
    ['intersection', intersectionSteps, intersection],
    ['difference', differenceSteps, difference],
  ])('that are wide have their %s in short steps', (_, inSteps, whole) => {
    const wide = (from: number): FieldSet => {
      const members = Object.fromEntries(
        Array.from({ length: 5000 }, (__, index) => [`f:${from + index}`, EMPTY_SET]),
      );
      return { 'f:data': members, 'f:more': { 'f:a': members } };
    };
    const [a, b] = [wide(0), wide(100)];
    const steps = inSteps(a, b);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count += 1;
    expect(sameSet(step.value, whole(a, b))).toBe(true);
    expect(count).toBeGreaterThanOrEqual(4);
  });

  test('that are wide are listed in short steps', () => {
    const names = Array.from({ length: 9000 }, (_, index) => `f:${String(index).padStart(5, '0')}`);
    const fields: FieldSet = { 'f:data': Object.fromEntries(names.map((name) => [name, EMPTY_SET])) };
    const owner = { manager: 'a', operation: 'Update', apiVersion: 'v1', subresource: '' } as const;
    const steps = conflictError([{ owner, fields }]);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count += 1;
    expect(count).toBeGreaterThanOrEqual(8);
    expect(step.value.causes).toHaveLength(9000);
    expect(pathsOf(fields).map((path) => path[1])).toEqual(names);
  });

  test('keep one spelling: equal sets have equal JSON but for the order', () => {
    fc.assert(
      fc.property(paths, (list) => {
        expect(setOfPaths(list)).toEqual(setOfPaths(list.toReversed()));
        expect(difference(union(setOfPaths(list), setOfPaths([['f:zz']])), setOfPaths([['f:zz']]))).toEqual(
          setOfPaths(list),
        );
      }),
    );
  });

  test('are returned themselves where nothing changes', () => {
    const set = setOfPaths([['f:a'], ['f:a', 'f:b']]);
    expect(union(set, setOfPaths([['f:a']]))).toBe(set);
    expect(difference(set, setOfPaths([['f:b']]))).toBe(set);
  });

  test('distinguish members from their parents', () => {
    const set = setOfPaths([['f:a', 'f:b']]);
    expect(hasPath(set, ['f:a'])).toBe(false);
    expect(hasPath(set, ['f:a', 'f:b'])).toBe(true);
    expect(hasPath(set, [])).toBe(false);
    expect(isEmptySet(difference(set, set))).toBe(true);
  });
});

describe('parseFieldsV1', () => {
  test('reads what is written', () => {
    fc.assert(
      fc.property(paths, (list) => {
        const set = setOfPaths(list);
        expect(sameSet(parseFieldsV1(JSON.parse(JSON.stringify(set))), set)).toBe(true);
      }),
    );
  });

  test.each<[string, string, unknown]>([
    [
      'sorts keys of items',
      '{"k:{\\"protocol\\":\\"TCP\\",\\"containerPort\\":80}":{}}',
      { 'k:{"containerPort":80,"protocol":"TCP"}': {} },
    ],
    ['writes values in one way', '{"v: \\"a\\" ":{}}', { 'v:"a"': {} }],
    ['takes a lone . for the field itself', '{"f:a":{".":{}}}', { 'f:a': {} }],
    ['unites two spellings', '{"v:1":{"f:a":{}},"v: 1":{"f:b":{}}}', { 'v:1': { 'f:a': {}, 'f:b': {} } }],
    ['keeps indexes', '{"i:3":{}}', { 'i:3': {} }],
    ['leaves out what it does not know', '{"x:a":{},"k:[]":{},"v:{}":{},"i:-1":{},"f:a":{}}', { 'f:a': {} }],
    ['leaves out a root', '{".":{},"f:a":{}}', { 'f:a': {} }],
    ['reads nothing', '{}', EMPTY_SET],
  ])('%s', (_, text, set) => {
    expect(parseFieldsV1(JSON.parse(text))).toEqual(set);
  });

  test.each([[null], [1], [[]], [{ 'f:a': 1 }], [{ 'f:a': null }]])('rejects %j', (value) => {
    expect(() => parseFieldsV1(value)).toThrow(FieldsV1Error);
  });

  test('rejects endless depth', () => {
    const deep = Array.from({ length: 200 }).reduce((value) => ({ 'f:a': value }), {});
    expect(() => parseFieldsV1(deep)).toThrow(FieldsV1Error);
  });
});
