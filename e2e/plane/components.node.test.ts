/** `componentstatuses`: current health of the control plane's components. */
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { type Body, usePlane } from './support.ts';

const PATH = '/api/v1/componentstatuses';

interface Shown extends Body {
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly error?: string }[];
}
const healthOf = (body: Body): readonly (readonly [name: string | undefined, status: string | undefined])[] =>
  body.items.map((item) => [item.metadata.name, (item as Shown).conditions[0]?.status]);

describe('componentstatuses', () => {
  const plane = usePlane('kubernetes', ['--controllers=*']);

  test('has every part, each of which works', async () => {
    await eventually(async () => (await plane.get('/readyz')).status === 200);
    const { body } = await plane.get(PATH);
    expect(body.kind).toBe('ComponentStatusList');
    expect(healthOf(body)).toEqual([
      ['scheduler', 'True'],
      ['controller-manager', 'True'],
      ['etcd-0', 'True'],
    ]);
    const selected = await plane.get(`${PATH}?fieldSelector=metadata.name=etcd-0`);
    expect(healthOf(selected.body)).toEqual([['etcd-0', 'True']]);
  });

  test('shows one, as an object, a row and in protobuf; there are no others', async () => {
    const path = `${PATH}/etcd-0`;
    const condition = { type: 'Healthy', status: 'True', message: '{"health":"true","reason":""}' };
    expect((await plane.get(path)).body).toMatchObject({
      metadata: { name: 'etcd-0' },
      conditions: [condition],
    });
    const accept = `application/json;as=Table;g=meta.${plane.words.apiGroupDomain};v=v1`;
    const { body } = await plane.get(path, { accept });
    expect(body.rows[0]?.cells).toEqual(['etcd-0', 'Healthy', '{"health":"true","reason":""}', '']);
    const { bytes } = await plane.get(path, { accept: plane.words.protobufContentType });
    expect(plane.protobuf.decode(bytes)).toMatchObject({ kind: 'ComponentStatus', conditions: [condition] });
    expect((await plane.get(`${PATH}/nosuch`)).status).toBe(404);
    expect((await plane.post(PATH, { metadata: { name: 'x' } })).status).toBe(405);
  });
});

describe('componentstatuses of a server that leaves parts to others', () => {
  const plane = usePlane('kubernetes');
  const lease = plane.path('coordination/v1', `namespaces/${plane.words.systemNamespace}/leases`);

  test('follow the Lease of the part', async () => {
    await eventually(async () => (await plane.get('/readyz')).status === 200);
    const scheduler = async (): Promise<Shown['conditions'][number] | undefined> =>
      ((await plane.get(`${PATH}/scheduler`)).body as Shown).conditions[0];
    expect(await scheduler()).toMatchObject({
      status: 'False',
      error: expect.stringContaining('Lease does not exist') as string,
    });
    const name = `${plane.words.componentPrefix}-scheduler`;
    const renewed = (renewTime: string): object => ({
      metadata: { name },
      spec: { holderIdentity: 'other', leaseDurationSeconds: 3600, renewTime },
    });
    await plane.post(lease, renewed(new Date().toISOString().replace('Z', '000Z')));
    expect(await scheduler()).toMatchObject({ status: 'True' });
    await plane.patch(`${lease}/${name}`, renewed('2020-01-01T00:00:00.000000Z'));
    expect(await scheduler()).toMatchObject({
      status: 'False',
      error: expect.stringContaining('2020') as string,
    });
  });
});
