import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type ErrorRow, errorsOf, type KindSubject, rowOf } from '../kind.fixture.ts';
import { lease } from './lease.ts';

describe('a lease', () => {
  const subject: KindSubject = {
    typeRef: `coordination.${VOCABULARIES.plat.apiGroupDomain}/v1.Lease`,
    entry: lease,
    base: {
      metadata: { name: 'l', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' },
      spec: { holderIdentity: 'me', leaseDurationSeconds: 15 },
    },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without a holder', { spec: undefined }, []],
    ['for no time', { 'spec.leaseDurationSeconds': 0 }, ['spec.leaseDurationSeconds Invalid']],
    ['changed below zero', { 'spec.leaseTransitions': -1 }, ['spec.leaseTransitions Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('has a row', () => {
    expect(rowOf(subject)).toEqual(['l', 'me', '60s']);
    expect(rowOf(subject, { spec: undefined })).toEqual(['l', '', '60s']);
  });
});
