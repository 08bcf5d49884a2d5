import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { builtinFacts } from '../facts.ts';
import { createMemoryStore } from './allocation/memory-store.fixture.ts';
import { createServiceAllocation } from './allocation/service-allocation.ts';
import { NOW_MS, objectOf } from './strategy.fixture.ts';
import { coreKinds } from './table.ts';

const vocabulary = VOCABULARIES.plat;
const FACTS = builtinFacts(vocabulary).filter(({ info }) => info.group === '');
const KINDS = coreKinds({
  vocabulary,
  allocation: createServiceAllocation(
    { store: createMemoryStore().store, random: () => 0, now: () => NOW_MS },
    { clusterIPRanges: [], nodePorts: { first: 1, last: 1 } },
  ),
});

test('coreKinds has every kind of the core group, and no other', () => {
  expect(Object.keys(KINDS).toSorted()).toEqual(FACTS.map(({ factKey }) => factKey).toSorted());
});

describe('each kind', () => {
  test.each(FACTS.map(({ factKey, typeRef, info }) => [factKey, typeRef, info] as const))(
    '%s shows an empty object in as many cells as there are columns, and selects by text',
    (factKey, typeRef, info) => {
      const { strategy, parts = {} } = KINDS[factKey] ?? { strategy: {} };
      const object = objectOf(typeRef, { metadata: { name: 'x' } });
      const row = strategy.row?.(object, { nowMs: NOW_MS, vocabulary });
      expect(row?.length ?? info.columns.length).toBe(info.columns.length);
      for (const read of Object.values(strategy.selectableFields ?? {}))
        expect(typeof read(object)).toBe('string');
      for (const part of Object.keys(parts)) expect(info.subresources.has(part)).toBe(true);
    },
  );

  test('events expire after an hour by default', () => {
    expect(KINDS['v1/Event']?.strategy.ttlSeconds).toBe(3600);
  });
});
