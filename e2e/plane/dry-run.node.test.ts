/** Dry runs. Document 1 §4.8 and 5. */
import { beforeAll, describe, expect, test } from 'vitest';
import { samples } from './kinds.ts';
import {
  APPLY,
  configMap,
  JSON_PATCH,
  type Json,
  MERGE,
  pod,
  STRATEGIC,
  tokens,
  usePlane,
  WAIT,
} from './support.ts';

describe('dryRun', () => {
  const plane = usePlane('plat', tokens('ann-token,ann,1,"dev"'));
  let folder = '';
  let path = '';
  beforeAll(async () => {
    folder = await plane.namespace();
    path = `${folder}/configmaps`;
    await plane.post(path, configMap('live', '1', { finalizers: [] }));
    await plane.post(`${folder}/pods`, pod('web'));
  });
  /** Asserts that nothing in the namespace was written meanwhile. */
  async function unchanged(action: () => Promise<unknown>): Promise<void> {
    const state = async (): Promise<unknown> =>
      Promise.all(
        ['pods', 'configmaps'].map(async (kind) => (await plane.get(`${folder}/${kind}`)).body.items),
      );
    const before = await state();
    await action();
    expect(await state()).toEqual(before);
  }

  test.each(samples(plane.words))(
    'POST $id responds as if it were done',
    async ({ path: collection, object, kind }) => {
      await unchanged(async () => {
        const { status, body } = await plane.post(`${collection}?dryRun=All`, object);
        expect({ status, body }).toMatchObject({
          status: 201,
          body: { kind, metadata: { name: object.metadata.name, uid: expect.any(String) as string } },
        });
        expect(body.metadata.creationTimestamp).toBeDefined();
      });
      expect((await plane.get(`${collection}/${object.metadata.name}`)).status).toBe(404);
    },
  );

  test('names are generated, defaults are set', async () => {
    const { body } = await plane.post(`${folder}/pods?dryRun=All`, {
      ...pod(''),
      metadata: { generateName: 'web-' },
    });
    expect(body.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
    expect(body.spec).toMatchObject({ restartPolicy: 'Always', dnsPolicy: 'ClusterFirst' });
  });

  test.each<[string, string, unknown, string]>([
    ['PUT', 'configmaps/live', configMap('live', '2'), 'application/json'],
    ['PATCH', 'configmaps/live', { data: { value: '2' } }, MERGE],
    ['PATCH', 'configmaps/live', { data: { value: '2' } }, STRATEGIC],
    ['PATCH', 'configmaps/live', [{ op: 'replace', path: '/data/value', value: '2' }], JSON_PATCH],
    ['PATCH', 'configmaps/live?fieldManager=me&force=true', configMap('live', '2'), APPLY],
  ])('%s %s responds with the object as it would be', async (method, rest, body, type) => {
    await unchanged(async () => {
      const question = rest.includes('?') ? '&' : '?';
      const response = await plane.call(method, `${folder}/${rest}${question}dryRun=All`, body, { type });
      expect(response).toMatchObject({ status: 200, body: { data: { value: '2' } } });
    });
    expect((await plane.get(`${path}/live`)).body.data).toEqual({ value: '1' });
  });

  test.each<[string, string, unknown, number]>([
    ['DELETE', 'configmaps/live?dryRun=All', undefined, 200],
    ['DELETE', 'configmaps/live', { dryRun: ['All'] }, 200],
    ['DELETE', 'configmaps?dryRun=All', undefined, 200],
    ['PUT', 'pods/web/status?dryRun=All', { ...pod('web'), status: { phase: 'Running' } }, 200],
    [
      'POST',
      'pods/web/binding?dryRun=All',
      { metadata: { name: 'web' }, target: { kind: 'Node', name: 'n1' } },
      201,
    ],
    ['POST', 'pods/web/eviction?dryRun=All', { metadata: { name: 'web' } }, 201],
    ['POST', 'pods/web/eviction', { metadata: { name: 'web' }, deleteOptions: { dryRun: ['All'] } }, 201],
    ['PATCH', 'configmaps/fresh?dryRun=All&fieldManager=me', configMap('fresh'), 201],
  ])('%s %s %j writes nothing', async (method, rest, body, status) => {
    await unchanged(async () => {
      const type = method === 'PATCH' ? APPLY : 'application/json';
      expect((await plane.call(method, `${folder}/${rest}`, body, { type })).status).toBe(status);
    });
  });

  test('a watch sees nothing of it', async () => {
    await using stream = await plane.watch(`${path}?watch=1&resourceVersion=${await plane.revision()}`);
    await plane.post(`${path}?dryRun=All`, configMap('unseen'));
    await plane.post(path, configMap('seen'));
    expect(await stream.take(1)).toEqual(['ADDED seen']);
  });

  test.each<[string, string, unknown, number, string]>([
    ['POST', 'configmaps', configMap('live'), 409, 'AlreadyExists'],
    ['POST', 'configmaps', configMap('Not A Name'), 422, 'Invalid'],
    ['POST', 'pods', { metadata: { name: 'empty' }, spec: { containers: [] } }, 422, 'Invalid'],
    ['PUT', 'configmaps/none', configMap('none'), 404, 'NotFound'],
    ['PUT', 'configmaps/live', configMap('live', '2', { resourceVersion: '1' }), 409, 'Conflict'],
    ['DELETE', 'configmaps/live', { preconditions: { uid: 'x' } }, 409, 'Conflict'],
    ['DELETE', 'configmaps/none', undefined, 404, 'NotFound'],
    ['PATCH', 'configmaps/live', { data: { value: 7 } }, 422, 'Invalid'],
  ])('%s %s fails as it would fail', async (method, rest, body, status, reason) => {
    const type = method === 'PATCH' ? MERGE : 'application/json';
    const response = await plane.call(method, `${folder}/${rest}?dryRun=All`, body, { type });
    expect(response).toMatchObject({ status, body: { kind: 'Status', reason } });
  });

  test.each(['true', 'all', 'None'])('dryRun=%s is no dry run and nothing else (422)', async (value) => {
    const response = await plane.post(`${path}?dryRun=${value}`, configMap('odd'));
    expect(response).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'dryRun' }] } } });
  });

  test('dryRun without a value lets the request have its effects', async () => {
    expect((await plane.post(`${path}?dryRun`, configMap('real'))).status).toBe(201);
    expect((await plane.get(`${path}/real`)).status).toBe(200);
    expect((await plane.patch(`${path}/real?dryRun=`, { data: { value: '2' } })).body.data).toEqual({
      value: '2',
    });
    expect((await plane.delete(`${path}/real?dryRun`)).status).toBe(200);
    expect((await plane.get(`${path}/real`)).status).toBe(404);
  });

  test('it requires the same permission as the real request', async () => {
    const ann = plane.as('ann-token');
    const rows: readonly [string, string, Json | undefined][] = [
      ['POST', path, configMap('x')],
      ['PATCH', `${path}/live`, {}],
      ['DELETE', `${path}/live`, undefined],
    ];
    const statuses = async (query: string): Promise<readonly number[]> => {
      const found: number[] = [];
      for (const [method, to, body] of rows) {
        const type = method === 'PATCH' ? MERGE : 'application/json';
        found.push((await ann.call(method, to + query, body, { type })).status);
      }
      return found;
    };
    expect(await statuses('?dryRun=All')).toEqual([403, 403, 403]);
    const name = folder.split('/').at(-1) ?? '';
    const rbac = plane.path('rbac.authorization/v1', `namespaces/${name}`);
    const roleRef = { kind: 'ClusterRole', name: 'edit' };
    await plane.post(`${rbac}/rolebindings`, {
      metadata: { name: 'ann' },
      roleRef: { apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`, ...roleRef },
      subjects: [{ kind: 'User', name: 'ann' }],
    });
    await expect.poll(() => statuses('?dryRun=All'), WAIT).toEqual([201, 200, 200]);
  });
});

describe('fieldValidation', () => {
  const plane = usePlane();
  let path = '';
  let names = 0;
  beforeAll(async () => {
    path = `${await plane.namespace()}/pods`;
  });
  const NAME = (): string => `v-${(names += 1)}`;
  const faulty = (name: string): Json => ({
    ...pod(name, { nonsense: 1, containers: [{ name: 'main', image: 'busybox', imagePullPolici: 'Never' }] }),
    extra: true,
  });
  const UNKNOWN = ['extra', 'spec.nonsense', 'spec.containers[0].imagePullPolici'];
  const warnings = (headers: Readonly<Record<string, string | string[] | undefined>>): readonly string[] =>
    [headers['warning'] ?? []].flat().flatMap((text) => text.split(/, (?=299)/));

  test.each(['Ignore', 'Warn', 'Strict', ''])('POST with fieldValidation=%s', async (mode) => {
    const { status, headers, body } = await plane.post(`${path}?fieldValidation=${mode}`, faulty(NAME()));
    const texts = [...warnings(headers), body.message ?? ''].join(' ');
    const warned = UNKNOWN.filter(
      (field) => texts.includes(`unknown field \\"${field}\\"`) || texts.includes(`unknown field "${field}"`),
    );
    const strict = mode === 'Strict';
    expect({ status, warned }).toEqual({
      status: strict ? 400 : 201,
      warned: mode === 'Ignore' ? [] : UNKNOWN,
    });
    expect(warnings(headers)).toHaveLength(mode === 'Warn' || mode === '' ? 3 : 0);
    expect(JSON.stringify(body)).not.toContain(strict ? 'uid' : 'nonsense');
  });

  test('a warning has the form of RFC 7234, 5.5', async () => {
    const { headers } = await plane.post(`${path}?fieldValidation=Warn`, { ...pod(NAME()), extra: 1 });
    expect(headers['warning']).toBe('299 - "unknown field \\"extra\\""');
  });

  test.each<[string, string, string]>([
    [
      'JSON',
      'application/json',
      '{"metadata":{"name":"NAME"},"spec":{"containers":[{"name":"c","image":"a","image":"b"}]}}',
    ],
    [
      'YAML',
      'application/yaml',
      'metadata: {name: NAME}\nspec: {containers: [{name: c, image: a, image: b}]}\n',
    ],
  ])('duplicate keys in %s are reported as well', async (_, type, text) => {
    const strict = await plane.call('POST', `${path}?fieldValidation=Strict`, text.replace('NAME', NAME()), {
      type,
    });
    expect(strict.status).toBe(400);
    expect(strict.body.message).toContain('duplicate field "spec.containers[0].image"');
    const warned = await plane.call('POST', `${path}?fieldValidation=Warn`, text.replace('NAME', NAME()), {
      type,
    });
    expect({ status: warned.status, count: warnings(warned.headers).length }).toEqual({
      status: 201,
      count: 1,
    });
  });

  test.each<[string, unknown]>([
    [MERGE, { metadata: { labels: { a: 'b' } }, spec: { nonsense: 1 } }],
    [STRATEGIC, { metadata: { labels: { a: 'b' } }, spec: { nonsense: 1 } }],
    [JSON_PATCH, [{ op: 'add', path: '/spec/nonsense', value: 1 }]],
  ])('%s', async (type, patch) => {
    const name = NAME();
    await plane.post(path, pod(name));
    const send = (mode: string) => plane.patch(`${path}/${name}?fieldValidation=${mode}`, patch, type);
    expect((await send('Strict')).status).toBe(422);
    const warned = await send('Warn');
    expect({ status: warned.status, warnings: warnings(warned.headers).length }).toEqual({
      status: 200,
      warnings: 1,
    });
    expect(warnings((await send('Ignore')).headers)).toEqual([]);
    expect((await plane.get(`${path}/${name}`)).body.spec).not.toHaveProperty('nonsense');
  });

  test('PUT and apply', async () => {
    const name = NAME();
    const { body } = await plane.post(path, pod(name));
    const put = await plane.put(`${path}/${name}?fieldValidation=Strict`, { ...body, extra: 1 });
    expect(put.status).toBe(400);
    expect((await plane.put(`${path}/${name}?fieldValidation=Warn`, { ...body, extra: 1 })).status).toBe(200);
  });

  test('another value is refused', async () => {
    const response = await plane.post(`${path}?fieldValidation=Maybe`, pod(NAME()));
    expect(response).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'fieldValidation' }] } },
    });
  });
});
