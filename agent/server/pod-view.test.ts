import { expect, test } from 'vitest';
import { podObject } from './pod-view.ts';

const entry = {
  pod: { metadata: { name: 'web', uid: 'u1' }, spec: { containers: [{ name: 'c' }] } },
  origin: { source: 'file', location: '', document: '' },
  status: { phase: 'Running' },
} as const;

test('a pod that stays is shown without a deletion', () => {
  expect(podObject({ ...entry, end: undefined, deletion: undefined })).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', uid: 'u1' },
    spec: { containers: [{ name: 'c' }] },
    status: { phase: 'Running' },
  });
});

test('a pod that is being removed is shown with the time at which it is to be gone', () => {
  const deletion = { atMs: Date.parse('2026-01-02T03:04:35Z'), gracePeriodSeconds: 30 };
  expect(podObject({ ...entry, end: undefined, deletion }).metadata).toEqual({
    name: 'web',
    uid: 'u1',
    deletionTimestamp: '2026-01-02T03:04:35Z',
    deletionGracePeriodSeconds: 30,
  });
});
