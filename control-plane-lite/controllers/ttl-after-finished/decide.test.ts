import { expect, test } from 'vitest';
import type { Job } from '#api/gen/batch-v1.ts';
import { expiryOf } from './decide.ts';

const END = '2026-01-01T00:00:00Z';
const END_MS = Date.parse(END);

const job = (changes: {
  ttl?: number;
  type?: string;
  status?: string;
  at?: string;
  deleting?: boolean;
}): Job => {
  const { ttl, type = 'Complete', status = 'True', at, deleting = false } = changes;
  const template = { spec: { containers: [] } };
  return {
    metadata: deleting ? { deletionTimestamp: END } : {},
    spec: { template, ...(ttl === undefined ? {} : { ttlSecondsAfterFinished: ttl }) },
    status: { conditions: [{ type, status, ...(at === undefined ? {} : { lastTransitionTime: at }) }] },
  };
};

test.each<[string, Job, number | undefined]>([
  ['complete', job({ ttl: 10, at: END }), END_MS + 10_000],
  ['failed', job({ ttl: 0, type: 'Failed', at: END }), END_MS],
  ['without a time to live', job({ at: END }), undefined],
  ['suspended', job({ ttl: 0, type: 'Suspended', at: END }), undefined],
  ['no longer complete', job({ ttl: 0, status: 'False', at: END }), undefined],
  ['ended at an unknown time', job({ ttl: 0 }), undefined],
  ['on its way out', job({ ttl: 0, at: END, deleting: true }), undefined],
  ['without a status', { spec: { template: {}, ttlSecondsAfterFinished: 0 } }, undefined],
])('a job that is %s', (_, given, expected) => {
  expect(expiryOf(given)).toBe(expected);
});
