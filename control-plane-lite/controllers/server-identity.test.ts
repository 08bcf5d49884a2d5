import { expect, test } from 'vitest';
import type { Lease } from '#api/gen/coordination-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { isExpiredIdentity } from './server-identity.ts';

const { plat } = VOCABULARIES;
const LABEL = `${plat.apiGroupDomain}/component`;
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

const leaseOf = (spec: Lease['spec'], component = `${plat.componentPrefix}-apiserver`): Lease => ({
  metadata: { name: 'a', labels: { [LABEL]: component } },
  ...(spec === undefined ? {} : { spec }),
});
const renewed = (renewTime: string): Lease['spec'] => ({ renewTime, leaseDurationSeconds: 60 });

test.each<[string, Lease, boolean]>([
  ['of a server that renews it', leaseOf(renewed('2026-11-21T11:59:30.000000Z')), false],
  ['of a server that is gone', leaseOf(renewed('2026-11-21T11:58:30.000000Z')), true],
  ['without a time', leaseOf({}), true],
  ['of another component', leaseOf(renewed('2026-11-21T11:00:00.000000Z'), 'other'), false],
  ['without a label', { metadata: { name: 'a' } }, false],
])('a lease %s', (_, lease, expected) => {
  expect(isExpiredIdentity(lease, plat, NOW_MS)).toBe(expected);
});
