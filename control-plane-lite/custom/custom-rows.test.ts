import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Cell } from '../resources/contract.ts';
import { cellOf, customTable } from './custom-rows.ts';

const NOW = Date.parse('2022-01-01T00:01:00Z');

describe('cellOf', () => {
  test.each<readonly [string, unknown, Cell]>([
    ['string', 'a', 'a'],
    ['string', 1, '1'],
    ['string', { a: [1] }, '{"a":[1]}'],
    ['string', 'x'.repeat(5000), 'x'.repeat(4096)],
    ['integer', 1, 1],
    ['integer', 1.9, 1],
    ['integer', '1', null],
    ['number', 1.5, 1.5],
    ['boolean', false, false],
    ['boolean', 'false', null],
    ['date', '2022-01-01T00:00:00Z', '60s'],
    ['date', 'yesterday', '<invalid>'],
    ['date', 5, null],
    ['string', null, null],
    ['string', undefined, null],
  ])('%s of %j', (type, value, cell) => {
    expect(cellOf(type, value, NOW)).toEqual(cell);
  });
});

describe('customTable', () => {
  const object = {
    apiVersion: 'shop.example/v1',
    kind: 'Cake',
    metadata: { name: 'a', creationTimestamp: '2022-01-01T00:00:00Z' },
    spec: { n: 3 },
  };
  const context = { nowMs: NOW, vocabulary: VOCABULARIES.plat };

  test('shows name and age where the definition has no columns', () => {
    const { columns, row } = customTable(undefined);
    expect(columns.map(({ name }) => name)).toEqual(['Name', 'Age']);
    expect(row(object, context)).toEqual(['a', '60s']);
  });

  test('shows the first match of a column’s path', () => {
    const { columns, row } = customTable([
      { name: 'N', type: 'integer', jsonPath: '.spec.n', priority: 1 },
      { name: 'Any', type: 'string', jsonPath: '..n' },
    ]);
    expect(columns).toMatchObject([{ name: 'Name' }, { name: 'N', priority: 1 }, { name: 'Any' }]);
    expect(row(object, context)).toEqual(['a', 3, '3']);
  });
});
