import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  formatLabelSelector,
  matchesLabels,
  parseLabelSelector,
  type Requirement,
  SelectorError,
  selectorRequirements,
} from './selectors.ts';

const LABELS = { app: 'web', tier: 'front', 'x.io/size': '10', empty: '' };

describe('parseLabelSelector and matchesLabels', () => {
  test.each([
    ['', true],
    ['app', true],
    ['missing', false],
    ['!missing', true],
    ['!app', false],
    ['! app', false],
    ['app=web', true],
    ['app==web', true],
    ['app = web', true],
    ['app=db', false],
    ['app!=db', true],
    ['missing!=db', true],
    ['app!=web', false],
    ['empty=', true],
    ['app=', false],
    ['app in (web,db)', true],
    ['app in ( db , web )', true],
    ['app in (db)', false],
    ['missing in (db)', false],
    ['empty in (,x)', true],
    ['app notin (db)', true],
    ['missing notin (db)', true],
    ['app notin (web)', false],
    ['x.io/size>9', true],
    ['x.io/size>10', false],
    ['x.io/size<11', true],
    ['app>1', false],
    ['missing<1', false],
    ['app=web,tier=front', true],
    ['app=web, tier=back', false],
    ['in in (x)', false],
    ['toString', false],
  ])('%s is %s', (text, expected) => {
    expect(matchesLabels(parseLabelSelector(text), LABELS)).toBe(expected);
  });

  test.each([
    ',',
    'a,',
    ',a',
    'a,,b',
    '=',
    '=a',
    'a=b=c',
    'a b',
    'a in',
    'a in ()x',
    'a in (b',
    'a in b)',
    'a in (b c)',
    'a>',
    'a>b',
    'a>1.5',
    '!',
    '!a=b',
    '-a',
    'a=-',
    'a/b/c',
    'a=(b)',
    'a notin b',
    `a=${'x'.repeat(64)}`,
  ])('rejects %j', (text) => {
    expect(() => parseLabelSelector(text)).toThrow(SelectorError);
  });
});

const keys = fc.constantFrom('a', 'b', 'x.io/c', 'in', 'notin');
const values = fc.constantFrom('', 'x', 'Y.1', 'in', '12');
const requirements: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({
    key: keys,
    operator: fc.constantFrom('in' as const, 'notIn' as const),
    values: fc.uniqueArray(values, { minLength: 1 }).map((list) => list.toSorted()),
  }),
  fc.record({
    key: keys,
    operator: fc.constantFrom('exists' as const, 'notExists' as const),
    values: fc.constant([]),
  }),
  fc.record({
    key: keys,
    operator: fc.constantFrom('greaterThan' as const, 'lessThan' as const),
    values: fc.integer().map((number) => [String(number)]),
  }),
);

function thrownBy(work: () => unknown): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

describe('properties', () => {
  it('parses its own output', () => {
    fc.assert(
      fc.property(fc.array(requirements), (list) => {
        expect(parseLabelSelector(formatLabelSelector(list))).toEqual(list);
      }),
    );
  });

  it('has opposite results for opposite operators', () => {
    const opposites = { in: 'notIn', exists: 'notExists' } as const;
    const labelSets = fc.dictionary(keys, values);
    fc.assert(
      fc.property(requirements, labelSets, (requirement, labels) => {
        if (requirement.operator !== 'in' && requirement.operator !== 'exists') return;
        const opposite = { ...requirement, operator: opposites[requirement.operator] };
        expect(matchesLabels([requirement], labels)).toBe(!matchesLabels([opposite], labels));
      }),
    );
  });

  it('throws SelectorError and nothing else for any text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-c=!<>(), inot1]{0,16}$/), (text) => {
        const thrown = thrownBy(() => parseLabelSelector(text));
        expect(thrown === undefined || thrown instanceof SelectorError).toBe(true);
      }),
    );
  });
});

describe('selectorRequirements', () => {
  it('joins labels and expressions', () => {
    const list = selectorRequirements({
      matchLabels: { app: 'web' },
      matchExpressions: [
        { key: 'tier', operator: 'In', values: ['front', 'back'] },
        { key: 'missing', operator: 'DoesNotExist' },
      ],
    });
    expect(matchesLabels(list, LABELS)).toBe(true);
    expect(matchesLabels(list, { app: 'web', tier: 'middle' })).toBe(false);
  });

  it('matches everything without requirements', () => {
    expect(matchesLabels(selectorRequirements({}), {})).toBe(true);
  });

  test.each([
    ['an unknown operator', { key: 'a', operator: 'Like', values: ['x'] }],
    ['In without values', { key: 'a', operator: 'In' }],
    ['Exists with values', { key: 'a', operator: 'Exists', values: ['x'] }],
  ])('rejects %s', (_, expression) => {
    expect(() => selectorRequirements({ matchExpressions: [expression] })).toThrow(SelectorError);
  });
});
