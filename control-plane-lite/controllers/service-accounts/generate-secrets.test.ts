import { expect, test } from 'vitest';
import type { ServiceAccount } from '#api/gen/core-v1.ts';
import { needsTokenSecret } from './generate-secrets.ts';

const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };

test.each<[string, ServiceAccount, boolean]>([
  ['lists nothing', {}, true],
  ['lists a Secret that holds its token', { secrets: [{ name: 'token' }] }, false],
  ['lists Secrets of other types only', { secrets: [{ name: 'other' }, {}] }, true],
  ['lists both', { secrets: [{ name: 'other' }, { name: 'token' }] }, false],
  ['is being deleted', { metadata: deleting }, false],
])('an account that %s', (_, account, expected) => {
  expect(needsTokenSecret(account, (name) => name === 'token')).toBe(expected);
});
