/** Server-side apply and field ownership. Document 1 §2.5 and 4.9; test names start with the number of the
 *  line. */
import { beforeAll, describe, expect, test } from 'vitest';
import { CLIENT_SIDE_APPLY } from '#api/vocabulary.ts';
import {
  APPLY,
  type Body,
  configMap,
  type Json,
  MERGE,
  pod,
  type Reply,
  usePlane,
  workload,
} from './support.ts';

interface Entry {
  readonly manager: string;
  readonly operation: string;
  readonly apiVersion: string;
  readonly time: string;
  readonly fieldsType: string;
  readonly fieldsV1: Json;
  readonly subresource?: string;
}

const entriesOf = ({ metadata }: Body): readonly Entry[] =>
  (metadata.managedFields ?? []) as readonly Entry[];
const entryOf = (body: Body, manager: string): Entry | undefined =>
  entriesOf(body).find((entry) => entry.manager === manager);
const managersOf = (body: Body): readonly string[] =>
  entriesOf(body)
    .map(({ manager }) => manager)
    .sort();

describe('apply', () => {
  const plane = usePlane();
  let folder = '';
  let apps = '';
  let names = 0;
  beforeAll(async () => {
    folder = await plane.namespace();
    apps = folder.replace('/api/v1', '/apis/apps/v1');
  });
  const fresh = (): string => `a-${(names += 1)}`;
  const configPath = (name: string): string => `${folder}/configmaps/${name}`;
  const config = (data: Json | undefined, metadata: Json = {}): Json => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata,
    ...(data && { data }),
  });
  const apply = (name: string, manager: string, data: Json | undefined, query = ''): Promise<Reply> =>
    plane.apply(`${configPath(name)}?fieldManager=${manager}${query}`, config(data));
  const update = (name: string, manager: string, data: Json): Promise<Reply> =>
    plane.patch(`${configPath(name)}?fieldManager=${manager}`, { data }, MERGE);

  test('2.5 an entry has manager, operation, apiVersion, time, fieldsType and fieldsV1', async () => {
    const { status, body } = await apply(fresh(), 'one', { a: '1' });
    expect(status).toBe(201);
    expect(entriesOf(body)).toEqual([
      {
        manager: 'one',
        operation: 'Apply',
        apiVersion: 'v1',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/) as string,
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {} } },
      },
    ]);
  });

  test('1 apply is Apply, every other change is Update; both are noted', async () => {
    const name = fresh();
    await plane.post(`${folder}/configmaps?fieldManager=poster`, configMap(name));
    await update(name, 'patcher', { b: '2' });
    const { body } = await plane.put(`${configPath(name)}?fieldManager=putter`, {
      ...config({ value: '1', b: '2', c: '3' }, { name }),
    });
    const applied = (await apply(name, 'applier', { d: '4' })).body;
    const kinds = (manager: string): unknown => entryOf(body, manager)?.operation;
    expect(['poster', 'patcher', 'putter'].map(kinds)).toEqual(['Update', 'Update', 'Update']);
    expect(entryOf(applied, 'applier')).toMatchObject({
      operation: 'Apply',
      fieldsV1: { 'f:data': { 'f:d': {} } },
    });
  });

  test('2 apply needs a fieldManager', async () => {
    const response = await plane.apply(configPath(fresh()), config({ a: '1' }));
    expect(response).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        details: { causes: [{ field: 'fieldManager', reason: 'FieldValueRequired' }] },
      },
    });
  });

  test('2 an applied object has no managedFields', async () => {
    const name = fresh();
    const body = config({ a: '1' }, { managedFields: [{ manager: 'x', operation: 'Apply' }] });
    expect((await plane.apply(`${configPath(name)}?fieldManager=one`, body)).status).toBe(400);
  });

  test.each<[string, unknown, number]>([
    ['another kind', { apiVersion: 'v1', kind: 'Secret' }, 400],
    ['no kind', { apiVersion: 'v1', data: {} }, 400],
    ['another name', config({}, { name: 'other' }), 400],
    ['a list', [], 400],
    ['an unknown member', { ...config({}), nonsense: 1 }, 400],
    ['a wrong shape', config({ a: { b: 'c' } }), 400],
    ['no YAML', '{', 400],
  ])('an applied object that is %s is refused', async (_, body, status) => {
    expect((await plane.apply(`${configPath(fresh())}?fieldManager=one`, body)).status).toBe(status);
  });

  test('2 only apply conflicts; updates take ownership', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1', b: '1' });
    const taken = await update(name, 'two', { a: '2' });
    expect(taken.status).toBe(200);
    expect(entryOf(taken.body, 'one')?.fieldsV1).toEqual({ 'f:data': { 'f:b': {} } });
    expect(entryOf(taken.body, 'two')?.fieldsV1).toEqual({ 'f:data': { 'f:a': {} } });
    const conflict = await apply(name, 'one', { a: '1', b: '1' });
    expect(conflict).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(conflict.body.details.causes).toEqual([
      {
        reason: 'FieldManagerConflict',
        message: expect.stringContaining('conflict with "two"') as string,
        field: '.data.a',
      },
    ]);
    expect(conflict.body.message).toContain('Apply failed with 1 conflict');
  });

  test('3 the body is a partial object: what is not in it is left alone', async () => {
    const name = fresh();
    await plane.post(`${folder}/configmaps`, configMap(name));
    const { status, body } = await apply(name, 'one', { other: '2' });
    expect({ status, data: body.data }).toEqual({ status: 200, data: { value: '1', other: '2' } });
  });

  test('4 the same value is shared; a later change by either conflicts', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    const shared = await apply(name, 'two', { a: '1' });
    expect(shared.status).toBe(200);
    expect(managersOf(shared.body)).toEqual(['one', 'two']);
    expect((await apply(name, 'one', { a: '2' })).status).toBe(409);
    expect((await apply(name, 'two', { a: '3' })).status).toBe(409);
  });

  test('5a force overwrites and takes the field from others', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1', b: '1' });
    const { status, body } = await apply(name, 'two', { a: '2' }, '&force=true');
    expect({ status, data: body.data }).toEqual({ status: 200, data: { a: '2', b: '1' } });
    expect(entryOf(body, 'one')?.fieldsV1).toEqual({ 'f:data': { 'f:b': {} } });
    expect(entryOf(body, 'two')?.fieldsV1).toEqual({ 'f:data': { 'f:a': {} } });
  });

  test('5 force is for apply alone', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    expect((await plane.patch(`${configPath(name)}?force=true`, { data: { a: '2' } })).status).toBe(422);
  });

  test('5b a field left out is given up, its value stays', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1', b: '1' });
    await apply(name, 'two', { a: '1' });
    const { body } = await apply(name, 'one', { b: '1' });
    expect(body.data).toEqual({ a: '1', b: '1' });
    expect(entryOf(body, 'one')?.fieldsV1).toEqual({ 'f:data': { 'f:b': {} } });
    expect((await apply(name, 'two', { a: '9' })).body.data).toEqual({ a: '9', b: '1' });
  });

  test('5c to apply the live value makes a shared owner', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    await update(name, 'two', { a: '2' });
    const { status, body } = await apply(name, 'one', { a: '2' });
    expect({ status, managers: managersOf(body) }).toEqual({ status: 200, managers: ['one', 'two'] });
  });

  test('6 an omitted field is removed unless it has another owner', async () => {
    const name = fresh();
    await apply(name, 'one', { mine: '1', ours: '1' });
    await apply(name, 'two', { ours: '1' });
    expect((await apply(name, 'one', undefined)).body.data).toEqual({ ours: '1' });
  });

  const deployment = (name: string, spec: Json, template: Json = {}): Json => {
    const whole = workload('Deployment', name) as { spec: { template: Json } & Json };
    const pods = whole.spec.template['spec'] as Json;
    return {
      ...whole,
      spec: { ...whole.spec, ...spec, template: { ...whole.spec.template, spec: { ...pods, ...template } } },
    };
  };
  const applyDeployment = (body: Json, manager: string, query = ''): Promise<Reply> =>
    plane.apply(
      `${apps}/deployments/${(body['metadata'] as { name: string }).name}?fieldManager=${manager}${query}`,
      body,
    );
  interface Container {
    readonly name: string;
    readonly image?: string;
    readonly env?: readonly Json[];
    readonly ports?: readonly Json[];
  }
  const containersOf = ({ spec }: Body): readonly Container[] =>
    (spec['template'] as { spec: { containers: Container[] } }).spec.containers;

  test('6 a field with a default goes back to it', async () => {
    const name = fresh();
    const first = await applyDeployment(deployment(name, { replicas: 5, revisionHistoryLimit: 3 }), 'one');
    expect(first.body.spec).toMatchObject({ replicas: 5, revisionHistoryLimit: 3 });
    const second = await applyDeployment(deployment(name, {}), 'one');
    expect(second.body.spec).toMatchObject({ replicas: 1, revisionHistoryLimit: 10 });
  });

  test('6 items of lists and keys of maps that are left out go too', async () => {
    const name = fresh();
    const containers = (...list: Container[]): Json => ({
      containers: list.map((each) => ({ image: 'busybox', ...each })),
    });
    await applyDeployment(
      deployment(
        name,
        {},
        containers(
          {
            name: 'main',
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
          },
          { name: 'side' },
        ),
      ),
      'one',
    );
    const { body } = await applyDeployment(
      deployment(name, {}, containers({ name: 'main', env: [{ name: 'B', value: '2' }] })),
      'one',
    );
    expect(containersOf(body).map(({ name: each, env }) => [each, env])).toEqual([
      ['main', [{ name: 'B', value: '2' }]],
    ]);
  });

  test('7 listType=map: items with the same keys are one, whichever manager applies them', async () => {
    const name = fresh();
    const withPorts = (...ports: Json[]): Json => ({
      containers: [{ name: 'main', image: 'busybox', ports }],
    });
    await applyDeployment(deployment(name, {}, withPorts({ containerPort: 80, name: 'http' })), 'one');
    const { status, body } = await applyDeployment(
      deployment(name, {}, withPorts({ containerPort: 443, protocol: 'TCP' })),
      'two',
    );
    expect(status).toBe(200);
    expect(containersOf(body)[0]?.ports).toEqual([
      { name: 'http', containerPort: 80, protocol: 'TCP' },
      { containerPort: 443, protocol: 'TCP' },
    ]);
    expect(JSON.stringify(entryOf(body, 'two')?.fieldsV1)).toContain(
      'k:{\\"containerPort\\":443,\\"protocol\\":\\"TCP\\"}',
    );
    const clash = deployment(name, {}, { containers: [{ name: 'main', image: 'alpine' }] });
    const conflict = await applyDeployment(clash, 'two');
    expect(conflict.body.details.causes?.map(({ field }) => field)).toEqual([
      '.spec.template.spec.containers[name="main"].image',
    ]);
  });

  test('7 listType=map: an item without its keys is refused', async () => {
    const name = fresh();
    const nameless = deployment(name, {}, { containers: [{ image: 'busybox' }] });
    expect((await applyDeployment(nameless, 'one')).status).toBe(400);
    const twice = deployment(name, {}, { containers: [{ name: 'x' }, { name: 'x' }] });
    expect((await applyDeployment(twice, 'one')).status).toBe(400);
  });

  test('7 listType=set: scalar items are owned one by one', async () => {
    const name = fresh();
    const held = (...finalizers: string[]): Json => config(undefined, { finalizers });
    await plane.apply(`${configPath(name)}?fieldManager=one`, held('e.com/a'));
    const { body } = await plane.apply(`${configPath(name)}?fieldManager=two`, held('e.com/b'));
    expect(body.metadata.finalizers).toEqual(['e.com/a', 'e.com/b']);
    expect(entryOf(body, 'two')?.fieldsV1).toMatchObject({
      'f:metadata': { 'f:finalizers': { 'v:"e.com/b"': {} } },
    });
    const less = await plane.apply(`${configPath(name)}?fieldManager=one`, held());
    expect(less.body.metadata.finalizers).toEqual(['e.com/b']);
    await plane.patch(configPath(name), { metadata: { finalizers: null } });
  });

  test('7 listType=atomic and mapType=atomic: the whole has one owner', async () => {
    const name = fresh();
    const args = (...list: string[]): Json => ({
      containers: [{ name: 'main', image: 'busybox', args: list }],
    });
    await applyDeployment(deployment(name, {}, args('a', 'b')), 'one');
    expect((await applyDeployment(deployment(name, {}, args('a')), 'two')).status).toBe(409);
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }] },
    };
    const path = `${folder}/services/${name}`;
    const selecting = (selector: Json): Json => ({ ...service, spec: { ...service.spec, selector } });
    expect((await plane.apply(`${path}?fieldManager=one`, selecting({ a: '1' }))).status).toBe(201);
    const conflict = await plane.apply(`${path}?fieldManager=two`, selecting({ a: '1', b: '2' }));
    expect(conflict.body.details.causes).toMatchObject([{ field: '.spec.selector' }]);
  });

  test('9 a manager that owns nothing is dropped', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    await apply(name, 'two', { b: '1' });
    const { body } = await apply(name, 'two', undefined);
    expect(managersOf(body)).toEqual(['one']);
    expect(managersOf((await update(name, 'three', { a: '2' })).body)).toEqual(['three']);
  });

  test.each<[string, unknown, string]>([
    ['a merge patch', { metadata: { managedFields: [{}] } }, MERGE],
    [
      'a JSON patch',
      [{ op: 'replace', path: '/metadata/managedFields', value: [{}] }],
      'application/json-patch+json',
    ],
  ])('10 one empty entry in %s strips managedFields', async (_, patch, type) => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    const { body } = await plane.patch(configPath(name), patch, type);
    expect(body.metadata).not.toHaveProperty('managedFields');
    // Earlier fields have no manager.
    const conflict = await apply(name, 'two', { a: '2' });
    expect(conflict.body.message).toContain('before-first-apply');
    expect(managersOf((await apply(name, 'two', { a: '1' })).body)).toEqual(['before-first-apply', 'two']);
  });

  test('10 an empty list strips nothing', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1' });
    const { body } = await plane.patch(configPath(name), { metadata: { managedFields: [] } });
    expect(managersOf(body)).toEqual(['one']);
  });

  test('10 stripped along with other changes: these belong to who makes them', async () => {
    const name = fresh();
    await apply(name, 'one', { a: '1', b: '1' });
    const { body } = await plane.patch(`${configPath(name)}?fieldManager=two`, {
      metadata: { managedFields: [{}] },
      data: { b: '2' },
    });
    expect(entriesOf(body)).toMatchObject([{ manager: 'two', operation: 'Update' }]);
  });

  test('the same again changes nothing, not even the time or the version', async () => {
    const name = fresh();
    const first = await apply(name, 'one', { a: '1' });
    const second = await apply(name, 'one', { a: '1' });
    expect({ status: second.status, body: second.body }).toEqual({ status: 200, body: first.body });
  });

  test('12 without a name, the manager is from the user agent', async () => {
    const name = fresh();
    const headers = { 'user-agent': 'mytool/v1.2 (linux) rest' };
    const { body } = await plane.post(`${folder}/configmaps`, configMap(name), { headers });
    expect(managersOf(body)).toEqual(['mytool']);
  });

  test.each(['x'.repeat(129), 'a%0Ab', '%07'])('fieldManager=%s is refused', async (manager) => {
    expect((await apply(fresh(), manager, {})).status).toBe(422);
  });

  test('PUT and other patches cannot claim ownership for others; reading shows it', async () => {
    const name = fresh();
    const { body } = await apply(name, 'one', { a: '1' });
    const put = await plane.put(`${configPath(name)}?fieldManager=two`, {
      ...body,
      data: { a: '1', b: '2' },
    });
    expect(entryOf(put.body, 'two')?.fieldsV1).toEqual({ 'f:data': { 'f:b': {} } });
    expect(entriesOf((await plane.get(configPath(name))).body)).toEqual(entriesOf(put.body));
  });

  test('bodies may be JSON as well', async () => {
    const name = fresh();
    const { status, body } = await plane.apply(
      `${configPath(name)}?fieldManager=one`,
      JSON.stringify(config({ a: '1' })),
    );
    expect({ status, data: body.data }).toEqual({ status: 201, data: { a: '1' } });
    const yaml = 'apiVersion: v1\nkind: ConfigMap\ndata: {a: "2"}\n';
    expect((await plane.apply(`${configPath(name)}?fieldManager=one`, yaml)).body.data).toEqual({ a: '2' });
  });

  describe('subresources', () => {
    test('status is owned apart', async () => {
      const name = fresh();
      await plane.post(`${folder}/pods`, pod(name));
      const path = `${folder}/pods/${name}/status?fieldManager=agent`;
      const body = { apiVersion: 'v1', kind: 'Pod', status: { message: 'well' } };
      const applied = await plane.apply(path, body);
      expect(applied).toMatchObject({ status: 200, body: { status: { message: 'well' } } });
      expect(entryOf(applied.body, 'agent')).toMatchObject({ subresource: 'status', operation: 'Apply' });
      const main = await plane.apply(`${folder}/pods/${name}?fieldManager=agent`, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { labels: { a: 'b' } },
        status: { message: 'ignored' },
      });
      expect(main.body).toMatchObject({ status: { message: 'well' } });
      expect(entriesOf(main.body).filter(({ manager }) => manager === 'agent')).toHaveLength(2);
    });

    test('scale: replicas are owned by who scales', async () => {
      const name = fresh();
      await applyDeployment(deployment(name, { replicas: 2 }), 'one');
      const path = `${apps}/deployments/${name}`;
      const scaled = await plane.patch(`${path}/scale?fieldManager=scaler`, { spec: { replicas: 4 } });
      expect(scaled).toMatchObject({ status: 200, body: { kind: 'Scale', spec: { replicas: 4 } } });
      const { body } = await plane.get(path);
      expect(entryOf(body, 'scaler')).toMatchObject({
        subresource: 'scale',
        fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      });
      const conflict = await applyDeployment(deployment(name, { replicas: 2 }), 'one');
      expect(conflict.body.details.causes).toMatchObject([{ field: '.spec.replicas' }]);
      expect((await applyDeployment(deployment(name, {}), 'one')).body.spec).toMatchObject({ replicas: 4 });
    });

    test('11 those of other kinds track nothing', async () => {
      const name = fresh();
      await plane.post(`${folder}/pods`, pod(name));
      const { body } = await plane.get(`${folder}/pods/${name}`);
      await plane.post(`${folder}/pods/${name}/eviction?dryRun=All`, { metadata: { name } });
      expect(entriesOf((await plane.get(`${folder}/pods/${name}`)).body)).toEqual(entriesOf(body));
    });
  });

  test.each([
    ['a node', '/api/v1/nodes', 'Node'],
    ['a pod', 'pods', 'Pod'],
  ])('of metadata alone to the status of %s takes effect and is owned', async (_, at, kind) => {
    const name = fresh();
    const path = at.startsWith('/') ? at : `${folder}/${at}`;
    await plane.post(path, kind === 'Pod' ? pod(name) : { metadata: { name } });
    const applied = await plane.call(
      'PATCH',
      `${path}/${name}/status?fieldManager=m`,
      { apiVersion: 'v1', kind, metadata: { name, annotations: { a: 'b' } } },
      { type: APPLY },
    );
    expect([applied.status, applied.body.metadata.annotations]).toMatchObject([200, { a: 'b' }]);
    expect(entryOf(applied.body, 'm')).toMatchObject({
      operation: 'Apply',
      subresource: 'status',
      fieldsV1: { 'f:metadata': { 'f:annotations': { 'f:a': {} } } },
    });
    const emptied = await plane.call(
      'PATCH',
      `${path}/${name}/status?fieldManager=m`,
      { apiVersion: 'v1', kind, metadata: { name } },
      { type: APPLY },
    );
    expect(emptied.body.metadata.annotations?.['a']).toBeUndefined();
  });

  test('who applied on the client side goes on applying on the server without conflicts', async () => {
    const name = fresh();
    const { manager = '', annotation = '' } = CLIENT_SIDE_APPLY[0] ?? {};
    const last = JSON.stringify(config({ a: '1' }));
    await plane.post(
      `${folder}/configmaps?fieldManager=${manager}-client-side-apply`,
      config({ a: '1' }, { name, annotations: { [annotation]: last } }),
    );
    expect((await apply(name, 'another', { a: '2' })).status).toBe(409);
    const { status, body } = await apply(name, manager, { a: '2' });
    expect({ status, data: body.data }).toEqual({ status: 200, data: { a: '2' } });
    expect(body.metadata.annotations?.[annotation]).toContain('"a":"2"');
  });
});
