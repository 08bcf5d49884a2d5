/** The gate APIServerIdentity: each server has a Lease, and those of servers that are gone are deleted. */
import { expect, test } from 'vitest';
import { type Json, usePlane, WAIT } from './support.ts';

const plane = usePlane('plat', [
  '--feature-gates=APIServerIdentity=true',
  '--identity-lease-renew-interval-seconds=1',
  '--identity-lease-duration-seconds=77',
]);
const without = usePlane('plat', ['--identity-lease-renew-interval-seconds=1']);

const leasesOf = async (of: typeof plane): Promise<readonly Json[]> => {
  const { apiGroupDomain, componentPrefix, systemNamespace } = of.words;
  const path = of.path('coordination/v1', `namespaces/${systemNamespace}/leases`);
  const selector = encodeURIComponent(`${apiGroupDomain}/component=${componentPrefix}-apiserver`);
  const { body } = await of.get(`${path}?labelSelector=${selector}`);
  return body.items.map(({ spec }) => spec);
};

test('a server renews its lease', async () => {
  await expect.poll(async () => (await leasesOf(plane)).length, WAIT).toBe(1);
  const [first] = await leasesOf(plane);
  expect(first).toMatchObject({ leaseDurationSeconds: 77 });
  await expect
    .poll(async () => (await leasesOf(plane))[0]?.['renewTime'], WAIT)
    .not.toBe(first?.['renewTime']);
});

test('the lease of a server that is gone is deleted', async () => {
  const { apiGroupDomain, componentPrefix, systemNamespace } = plane.words;
  const leases = plane.path('coordination/v1', `namespaces/${systemNamespace}/leases`);
  const labels = { [`${apiGroupDomain}/component`]: `${componentPrefix}-apiserver` };
  const { status } = await plane.post(leases, {
    apiVersion: `coordination.${apiGroupDomain}/v1`,
    kind: 'Lease',
    metadata: { name: 'gone', labels },
    spec: { holderIdentity: 'x', leaseDurationSeconds: 1, renewTime: '2020-01-01T00:00:00.000000Z' },
  });
  expect(status).toBe(201);
  await expect.poll(async () => (await plane.get(`${leases}/gone`)).status, WAIT).toBe(404);
});

test('without the gate there is no lease', async () => {
  expect(await leasesOf(without)).toEqual([]);
});
