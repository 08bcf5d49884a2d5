import { expect, test } from 'vitest';
import { withReferences } from './reference.ts';
import { formatTable, judge, type Measurement, type RowFacts } from './table.ts';

const theirs: RowFacts = {
  name: 'theirs',
  title: 'their rate',
  unit: '/s',
  budget: 2000,
  limits: 'atLeast',
};
const RATE: RowFacts = { ...theirs, name: 'rate', reference: { row: 'theirs', value: 700 } };
const TIME: RowFacts = { ...RATE, name: 'time', unit: 'ms', budget: 50, limits: 'value' };

const compared = (row: RowFacts, ours: Measurement, there: Measurement) =>
  withReferences([
    [row, judge(row, ours)],
    [theirs, judge(theirs, there)],
  ])[0]?.[1];

test.each([
  ['a rate, on a machine of half the speed', RATE, { value: 1050 }, { value: 350 }, 3, true],
  ['a rate of a faster machine', RATE, { value: 2100 }, { value: 1000 }, 2.1, false],
  ['a time, on a machine of half the speed', TIME, { value: 90 }, { value: 1400 }, 0.06429, true],
  ['a time of a faster machine', TIME, { value: 49 }, { value: 350 }, 0.14, false],
])('%s', (_, row, ours, there, ratio, ok) => {
  expect(compared(row, ours, there)?.reference).toMatchObject({ value: there.value, ratio, ok });
});

test('a row within its budget is unchanged', () => {
  expect(compared(RATE, { value: 1050 }, { value: 350 })).toMatchObject({ ok: false, budget: 2000 });
});

test.each([
  ['the row has an error', { value: 9, error: 'an event was lost' }, { value: 3 }],
  ['the reference has an error', { value: 9 }, { value: 3, error: '500' }],
  ['the reference did nothing', { value: 9 }, { value: 0 }],
])('nothing is compared where %s', (_, ours, there) => {
  expect(compared(RATE, ours, there)?.reference).toBeUndefined();
});

test('a row without its reference in the run is unchanged', () => {
  const alone = [[RATE, judge(RATE, { value: 9 })]] as const;
  expect(withReferences(alone)).toEqual(alone);
});

test('the table shows both', () => {
  const table = formatTable(
    withReferences([
      [RATE, judge(RATE, { value: 1050, detail: '200 MiB' })],
      [theirs, judge(theirs, { value: 350 })],
    ]),
  );
  expect(table.split('\n')[1]).toMatch(
    /≥ 2000 \/s +MISSED +3\.00 × \(≥ 2\.86 ×\) of their rate, 350 \/s: ok +200 MiB$/,
  );
});
