/** Endpoints and EndpointSlices of services while pods are created, become ready and are deleted. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Endpoints } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import { type Json, pod, STRATEGIC, usePlane, WAIT } from './support.ts';

const FLAGS = [
  '--controllers=endpoint,endpointslice,endpointslicemirroring,garbagecollector',
  '--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection',
  '--no-scheduler',
];

describe('what is behind a service', () => {
  const plane = usePlane('plat', FLAGS);
  let folder = '';
  beforeAll(async () => {
    folder = await plane.namespace();
    await plane.post(`${folder}/services`, {
      metadata: { name: 'web', labels: { team: 'a' } },
      spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    });
  });

  const podStatus = (name: string, status: Json): Promise<unknown> =>
    plane.patch(`${folder}/pods/${name}/status`, { status }, STRATEGIC);
  const ready = (status: string): Json => ({ conditions: [{ type: 'Ready', status }] });
  async function run(name: string, ip: string): Promise<void> {
    await plane.post(`${folder}/pods`, pod(name, { nodeName: 'n1' }, { labels: { app: 'web' } }));
    await podStatus(name, { phase: 'Running', podIP: ip, podIPs: [{ ip }], ...ready('False') });
  }
  async function endpoints(): Promise<unknown> {
    const { status, body } = await plane.get(`${folder}/endpoints/web`);
    if (status !== 200) return status;
    const { subsets = [] } = body as unknown as Endpoints;
    return subsets.map(({ addresses, notReadyAddresses }) => [
      (addresses ?? []).map(({ ip }) => ip),
      (notReadyAddresses ?? []).map(({ ip }) => ip),
    ]);
  }
  async function slices(): Promise<unknown> {
    const path = `${folder.replace('/api/v1', `/apis/discovery.${plane.words.apiGroupDomain}/v1`)}/endpointslices`;
    const { items } = (await plane.get(path)).body as unknown as { items: readonly EndpointSlice[] };
    return items.flatMap((slice) =>
      slice.endpoints.map(({ addresses, conditions }) => [
        addresses[0],
        conditions?.ready,
        conditions?.terminating,
      ]),
    );
  }

  async function slicesOf(service: string): Promise<readonly EndpointSlice[]> {
    const { domain, apiGroupDomain } = plane.words;
    const group = folder.replace('/api/v1', `/apis/discovery.${apiGroupDomain}/v1`);
    const selector = encodeURIComponent(`${domain}/service-name=${service}`);
    const { body } = await plane.get(`${group}/endpointslices?labelSelector=${selector}`);
    return (body as unknown as { items: readonly EndpointSlice[] }).items;
  }

  test('a service without pods has Endpoints without addresses', async () => {
    await expect.poll(endpoints, WAIT).toEqual([]);
    const { metadata } = (await plane.get(`${folder}/endpoints/web`)).body;
    expect(metadata.labels).toEqual({ team: 'a' });
  });

  test('pods appear, and are sent to once they are ready', async () => {
    await run('a', '10.0.0.1');
    await run('b', '10.0.0.2');
    await expect.poll(endpoints, WAIT).toEqual([[[], ['10.0.0.1', '10.0.0.2']]]);
    await podStatus('a', ready('True'));
    await expect.poll(endpoints, WAIT).toEqual([[['10.0.0.1'], ['10.0.0.2']]]);
    await expect.poll(slices, WAIT).toEqual([
      ['10.0.0.1', true, false],
      ['10.0.0.2', false, false],
    ]);
  });

  test('a pod that leaves is in the slice only, and then nowhere', async () => {
    await plane.delete(`${folder}/pods/a`);
    await expect.poll(endpoints, WAIT).toEqual([[[], ['10.0.0.2']]]);
    await expect.poll(slices, WAIT).toContainEqual(['10.0.0.1', false, true]);
    await plane.delete(`${folder}/pods/a`, { gracePeriodSeconds: 0 });
    await expect.poll(slices, WAIT).toEqual([['10.0.0.2', false, false]]);
  });

  test('endpoints that a client deletes are created again', async () => {
    await plane.delete(
      `${folder.replace('/api/v1', `/apis/discovery.${plane.words.apiGroupDomain}/v1`)}/endpointslices`,
    );
    await expect.poll(slices, WAIT).toEqual([['10.0.0.2', false, false]]);
  });

  test('both go with their service', async () => {
    await plane.delete(`${folder}/services/web`);
    await expect.poll(endpoints, WAIT).toBe(404);
    await expect.poll(slices, WAIT).toEqual([]);
  });

  test('a service without pods has an empty slice', async () => {
    await plane.post(`${folder}/services`, {
      metadata: { name: 'idle' },
      spec: { selector: { app: 'idle' }, ports: [{ port: 80 }] },
    });
    await expect.poll(() => slicesOf('idle'), WAIT).toMatchObject([{ endpoints: [], ports: [] }]);
  });

  test('Endpoints that a user maintains are mirrored to slices, and no longer once they opt out', async () => {
    const subsets = [
      {
        addresses: [{ ip: '192.0.2.1' }, { ip: '2001:db8::1' }],
        notReadyAddresses: [{ ip: '192.0.2.2' }],
        ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      },
    ];
    await plane.post(`${folder}/services`, { metadata: { name: 'manual' }, spec: { ports: [{ port: 80 }] } });
    await plane.post(`${folder}/endpoints`, { metadata: { name: 'manual', labels: { a: 'b' } }, subsets });
    const shown = async (): Promise<unknown> =>
      (await slicesOf('manual')).map(({ addressType, endpoints: all }) => [
        addressType,
        all.map(({ addresses: [ip], conditions }) => [ip, conditions?.ready]),
      ]);
    await expect.poll(async () => (await slicesOf('manual')).length, WAIT).toBe(2);
    expect(await shown()).toEqual(
      expect.arrayContaining([
        [
          'IPv4',
          [
            ['192.0.2.1', true],
            ['192.0.2.2', false],
          ],
        ],
        ['IPv6', [['2001:db8::1', true]]],
      ]),
    );
    const [first] = await slicesOf('manual');
    expect(first?.metadata).toMatchObject({
      labels: { a: 'b' },
      ownerReferences: [{ kind: 'Endpoints', name: 'manual', controller: true }],
    });
    await plane.patch(
      `${folder}/endpoints/manual`,
      { subsets: [{ addresses: [{ ip: '192.0.2.3' }], ports: [{ name: 'http', port: 80 }] }] },
      STRATEGIC,
    );
    await expect.poll(shown, WAIT).toEqual([['IPv4', [['192.0.2.3', true]]]]);
    const skip = { [`endpointslice.${plane.words.domain}/skip-mirror`]: 'true' };
    await plane.patch(`${folder}/endpoints/manual`, { metadata: { labels: skip } }, STRATEGIC);
    await expect.poll(shown, WAIT).toEqual([]);
  });

  test('those of a service without a selector belong to their creator', async () => {
    await plane.post(`${folder}/services`, {
      metadata: { name: 'outside' },
      spec: { ports: [{ port: 80 }] },
    });
    const own = {
      metadata: { name: 'outside' },
      subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80 }] }],
    };
    expect(await plane.post(`${folder}/endpoints`, own)).toMatchObject({ status: 201 });
    // A later service has its Endpoints: the controller has processed this one.
    await plane.post(`${folder}/services`, {
      metadata: { name: 'later' },
      spec: { selector: { a: 'b' }, ports: [{ port: 80 }] },
    });
    await expect.poll(async () => (await plane.get(`${folder}/endpoints/later`)).status, WAIT).toBe(200);
    const { subsets } = (await plane.get(`${folder}/endpoints/outside`)).body as unknown as Endpoints;
    expect(subsets?.[0]?.addresses).toEqual([{ ip: '192.0.2.1' }]);
  });
});
