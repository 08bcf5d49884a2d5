import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { priorityClass } from './priority-class.ts';

describe('a priority class', () => {
  const subject: KindSubject = {
    typeRef: `scheduling.${VOCABULARIES.plat.apiGroupDomain}/v1.PriorityClass`,
    entry: priorityClass,
    base: { metadata: { name: 'high', creationTimestamp: '2026-11-21T11:59:00Z' }, value: 1000 },
  };
  const SYSTEM = { 'metadata.name': 'system-node-critical', value: 2_000_001_000 };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['at the limit', { value: 1_000_000_000 }, []],
    ['above it', { value: 1_000_000_001 }, ['value Forbidden']],
    ['of the system', SYSTEM, []],
    ['of the system with another value', { ...SYSTEM, value: 1 }, ['metadata.name Forbidden']],
    ['of the system by default', { ...SYSTEM, globalDefault: true }, ['metadata.name Forbidden']],
    ['with a name like those of the system', { 'metadata.name': 'system-mine' }, ['metadata.name Forbidden']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['description', { description: 'x' }, []],
    ['value', { value: 2 }, ['value Forbidden']],
    ['preemption', { preemptionPolicy: 'Never' }, ['preemptionPolicy Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has the generation that it began with, and a row', () => {
    const changed = priorityClass.strategy.generationChanged;
    expect(changed?.(objectWith(subject), objectWith(subject, { description: 'x' }))).toBe(false);
    expect(rowOf(subject, { globalDefault: true })).toEqual(['high', 1000, true, '60s']);
  });
});
