/** Addresses and node ports of services. Document 1 §4.8.3; allocation as upstream. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Json, type Reply, usePlane } from './support.ts';

describe('services', () => {
  const plane = usePlane('plat', [
    '--service-cluster-ip-range=10.96.0.0/28',
    '--service-node-port-range=30000-30007',
  ]);
  let folder = '';
  let names = 0;
  beforeAll(async () => {
    folder = await plane.namespace();
  });
  const create = (spec: Json = {}, query = ''): Promise<Reply> =>
    plane.post(`${folder}/services${query}`, {
      metadata: { name: `s-${(names += 1)}` },
      spec: { ports: [{ port: 80 }], ...spec },
    });
  const one = ({ body }: Reply): string => `${folder}/services/${body.metadata.name}`;
  const remove = async (...replies: readonly Reply[]): Promise<void> => {
    for (const reply of replies) await plane.delete(one(reply));
  };
  interface Port {
    readonly nodePort?: number;
  }
  const portsOf = ({ body }: Reply): readonly Port[] => body.spec['ports'] as readonly Port[];

  test('each gets an address of the range', async () => {
    const made = [await create(), await create()];
    const ips = made.map(({ body }) => String(body.spec['clusterIP']));
    expect(new Set(ips).size).toBe(2);
    for (const ip of ips) expect(ip).toMatch(/^10\.96\.0\.\d+$/);
    expect(made[0]?.body.spec['clusterIPs']).toEqual([ips[0]]);
    await remove(...made);
  });

  test('a requested address is allocated once', async () => {
    const first = await create({ clusterIP: '10.96.0.9' });
    expect(first.body.spec).toMatchObject({ clusterIP: '10.96.0.9', clusterIPs: ['10.96.0.9'] });
    const second = await create({ clusterIP: '10.96.0.9' });
    expect(second).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'spec.clusterIPs[0]' }] } },
    });
    await remove(first);
    const third = await create({ clusterIP: '10.96.0.9' });
    expect(third.status).toBe(201);
    await remove(third);
  });

  test.each(['10.97.0.1', '10.96.0.0', '10.96.0.15', 'x', '127.0.0.1'])(
    '%s is not available as an address',
    async (clusterIP) => {
      expect((await create({ clusterIP })).status).toBe(422);
    },
  );

  test('an empty range refuses, and gives again what is freed', async () => {
    const made: Reply[] = [];
    let last = await create();
    for (; last.status === 201; last = await create()) made.push(last);
    expect(last).toMatchObject({ status: 500, body: { kind: 'Status' } });
    expect(made.length).toBeGreaterThan(10);
    await remove(...made.slice(0, 1));
    const again = await create();
    expect(again.body.spec['clusterIP']).toBe(made[0]?.body.spec['clusterIP']);
    await remove(again, ...made.slice(1));
  });

  test('headless services and those with an external name have none', async () => {
    const headless = await create({ clusterIP: 'None' });
    expect(headless.body.spec).toMatchObject({ clusterIP: 'None', clusterIPs: ['None'] });
    const external = await create({ type: 'ExternalName', externalName: 'a.example.com', ports: undefined });
    expect(external.body.spec).not.toHaveProperty('clusterIP');
    await remove(headless, external);
  });

  test('node ports come from the range, or as requested', async () => {
    const made = await create({
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80 },
        { name: 'b', port: 81, nodePort: 30_003 },
      ],
    });
    const [first, second] = portsOf(made);
    expect(first?.nodePort).toBeGreaterThanOrEqual(30_000);
    expect(first?.nodePort).toBeLessThanOrEqual(30_007);
    expect(second?.nodePort).toBe(30_003);
    const taken = await create({ type: 'NodePort', ports: [{ port: 80, nodePort: 30_003 }] });
    expect(taken).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'spec.ports[0].nodePort' }] } },
    });
    expect((await create({ type: 'NodePort', ports: [{ port: 80, nodePort: 31_000 }] })).status).toBe(422);
    await remove(made);
  });

  test('a change of type allocates and releases', async () => {
    const made = await create();
    const path = one(made);
    const { clusterIP } = made.body.spec;
    const opened = await plane.patch(path, { spec: { type: 'NodePort' } });
    expect(opened.body.spec).toMatchObject({ clusterIP });
    const port = portsOf(opened)[0]?.nodePort;
    expect(port).toBeGreaterThanOrEqual(30_000);
    const closed = await plane.patch(path, { spec: { type: 'ClusterIP' } });
    expect(portsOf(closed)[0]).not.toHaveProperty('nodePort');
    const other = await create({ type: 'NodePort', ports: [{ port: 80, nodePort: port }] });
    expect(other.status).toBe(201);
    const named = await plane.patch(path, {
      spec: { type: 'ExternalName', externalName: 'a.example.com', clusterIP: '', clusterIPs: null },
    });
    expect({ status: named.status, message: named.body.message }).toEqual({ status: 200 });
    const reused = await create({ clusterIP });
    expect(reused.status).toBe(201);
    await remove(made, other, reused);
  });

  test('a PUT that omits allocated values preserves them', async () => {
    const made = await create({ type: 'NodePort' });
    const { clusterIP } = made.body.spec;
    const put = await plane.put(one(made), {
      metadata: { name: made.body.metadata.name },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    });
    expect(put.body.spec).toMatchObject({ clusterIP });
    expect(portsOf(put)).toEqual(portsOf(made));
    await remove(made);
  });

  test('a dry run allocates nothing', async () => {
    const dry = await create({ clusterIP: '10.96.0.7' }, '?dryRun=All');
    expect(dry.status).toBe(201);
    const real = await create({ clusterIP: '10.96.0.7' });
    expect(real.status).toBe(201);
    await plane.delete(`${one(real)}?dryRun=All`);
    expect((await create({ clusterIP: '10.96.0.7' })).status).toBe(422);
    await remove(real);
  });

  test('the same under load: no value is allocated twice', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => create({ type: 'NodePort' })));
    const good = made.filter(({ status }) => status === 201);
    expect(new Set(good.map(({ body }) => body.spec['clusterIP'])).size).toBe(good.length);
    expect(new Set(good.map((reply) => portsOf(reply)[0]?.nodePort)).size).toBe(8);
    await remove(...good);
  });
});
