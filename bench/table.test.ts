import { describe, expect, test } from 'vitest';
import { formatTable, judge, median, type RowFacts, unmeasured } from './table.ts';

const RATIO: RowFacts = { name: 'r', title: 'row', unit: 's', budget: 1.2, limits: 'ratio' };
const RATE: RowFacts = { name: 'n', title: 'rate', unit: '/s', budget: 2000, limits: 'atLeast' };
const VALUE: RowFacts = { name: 'v', title: 'other row', unit: 'MiB', budget: 100, limits: 'value' };

describe('judge', () => {
  test.each([
    ['a ratio at its budget', RATIO, { value: 0.24, floor: 0.2 }, true],
    ['a ratio over its budget', RATIO, { value: 0.25, floor: 0.2 }, false],
    ['a ratio without a floor', RATIO, { value: 0.1 }, false],
    ['a value within its budget', VALUE, { value: 100 }, true],
    ['a value over its budget, whatever its floor', VALUE, { value: 101, floor: 100 }, false],
    ['a rate at its budget', RATE, { value: 2000 }, true],
    ['a rate below its budget', RATE, { value: 1999 }, false],
    ['a good value with an error', VALUE, { value: 1, error: 'a container was restarted' }, false],
  ])('%s', (_, row, measurement, ok) => {
    expect(judge(row, measurement).ok).toBe(ok);
  });

  test('returns the ratio only if the budget limits it', () => {
    expect(judge(RATIO, { value: 3, floor: 2 })).toMatchObject({ value: 3, floor: 2, ratio: 1.5 });
    expect(judge(VALUE, { value: 3, floor: 2 })).toMatchObject({ value: 3, floor: 2, ratio: null });
  });
});

describe('median', () => {
  test('is the middle of an odd number', () => expect(median([9, 1, 5])).toBe(5));
  test('is between the middle two of an even number', () => expect(median([4, 1, 2, 9])).toBe(3));
  test('requires a value', () => expect(() => median([])).toThrow(RangeError));
});

describe('formatTable', () => {
  test('shows a missed budget and its reason', () => {
    const table = formatTable([
      [RATIO, judge(RATIO, { value: 0.5, floor: 0.2 })],
      [VALUE, unmeasured(VALUE, 'the agent ended')],
    ]);
    expect(table).toContain('2.50 ×');
    expect(table.split('\n')[1]).toMatch(/≤ 1\.2 ×\s+MISSED$/);
    expect(table.split('\n')[2]).toMatch(/MISSED: the agent ended$/);
  });

  test('shows a rate with its details', () => {
    const table = formatTable([[RATE, judge(RATE, { value: 2345.6, detail: '200 MiB' })]]);
    expect(table.split('\n')[1]).toMatch(/2346 \/s .*≥ 2000 \/s +ok +200 MiB$/);
  });
});
