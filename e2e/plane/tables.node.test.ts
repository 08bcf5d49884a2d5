/** Objects as Tables. Document 1 §2.4 and 4.7; columns as in the table of resources. */
import { beforeAll, describe, expect, test } from 'vitest';
import { isVirtual } from '#plane/resources/builtin.ts';
import { builtinFacts } from '#plane/resources/facts.ts';
import { type Sample, samples } from './kinds.ts';
import { configMap, pod, usePlane } from './support.ts';

describe('tables', () => {
  const plane = usePlane();
  const { words } = plane;
  const accept = `application/json;as=Table;g=meta.${words.apiGroupDomain};v=v1`;
  const facts = new Map(builtinFacts(words).map(({ typeRef, info }) => [typeRef, info]));

  test.each(samples(words))('$id have their columns', async ({ path, object, typeRef }: Sample) => {
    const one = `${path}/${object.metadata.name}`;
    expect((await plane.post(path, object)).status).toBe(201);
    const info = facts.get(typeRef);
    const columns = info?.columns.map(({ name, type, priority = 0 }) => ({ name, type, priority }));
    const { body } = await plane.get(one, { accept });
    expect(body).toMatchObject({ kind: 'Table', apiVersion: `meta.${words.apiGroupDomain}/v1` });
    expect(
      body.columnDefinitions.map((column) => {
        expect(column).toMatchObject({
          format: expect.any(String) as string,
          description: expect.any(String) as string,
        });
        const { name, type, priority } = column as typeof column & { priority: number };
        return { name, type, priority };
      }),
    ).toEqual(columns);
    const list = await plane.get(`${path}?fieldSelector=metadata.name%3D${object.metadata.name}`, { accept });
    expect(list.body.columnDefinitions).toEqual(body.columnDefinitions);
    expect(list.body.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(list.body.rows).toHaveLength(1);
    const [row] = list.body.rows;
    expect(row?.cells).toHaveLength(columns?.length ?? 0);
    expect(row?.cells[columns?.findIndex(({ name }) => name === 'Name') ?? 0]).toBe(object.metadata.name);
    expect(row?.object).toMatchObject({
      kind: 'PartialObjectMetadata',
      metadata: { name: object.metadata.name },
    });
    await plane.delete(one, { gracePeriodSeconds: 0 });
  });

  const operations = builtinFacts(words).filter(({ info }) => isVirtual(info));
  test.each(operations.map(({ info }) => info))('$kind has none', async (info) => {
    const rest = `${info.namespaced ? 'namespaces/default/' : ''}${info.plural}`;
    const path = info.group === '' ? `/api/v1/${rest}` : `/apis/${info.group}/${info.version}/${rest}`;
    const reply = await plane.post(path, {}, { headers: { accept } });
    expect(reply).toMatchObject({ status: 406, body: { reason: 'NotAcceptable' } });
    // A client that accepts the object as well gets it, or the error in its request.
    const either = await plane.post(path, {}, { headers: { accept: `${accept},application/json` } });
    expect(either.status).not.toBe(406);
  });

  describe('of a few pods', () => {
    let path = '';
    beforeAll(async () => {
      path = `${await plane.namespace()}/pods`;
      for (const name of ['a', 'b', 'c']) await plane.post(path, pod(name));
    });

    test('name, readiness, status, restarts and age are what is shown first', async () => {
      const { body } = await plane.get(`${path}/a`, { accept });
      const cells = Object.fromEntries(
        body.columnDefinitions.map(({ name }, index) => [name, body.rows[0]?.cells[index]]),
      );
      expect(cells).toMatchObject({ Name: 'a', Ready: '0/1', Status: 'Pending', Node: '<none>' });
      expect(cells['Age']).toMatch(/^\d+s$/);
    });

    test.each([
      ['None', undefined],
      ['Metadata', 'PartialObjectMetadata'],
      ['Object', 'Pod'],
    ])('includeObject=%s comes with objects of kind %s', async (include, expected) => {
      const { body } = await plane.get(`${path}?includeObject=${include}`, { accept });
      expect(body.rows.map(({ object }) => object?.kind)).toEqual([expected, expected, expected]);
    });

    test('another includeObject is 400', async () => {
      expect((await plane.get(`${path}?includeObject=All`, { accept })).status).toBe(400);
    });

    test('pages and empty lists are tables', async () => {
      const first = (await plane.get(`${path}?limit=2`, { accept })).body;
      expect(first.rows).toHaveLength(2);
      expect(first.metadata).toMatchObject({ remainingItemCount: 1 });
      const token = encodeURIComponent(first.metadata.continue ?? '');
      const last = (await plane.get(`${path}?limit=2&continue=${token}`, { accept })).body;
      expect(last.rows).toHaveLength(1);
      expect(last.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      const none = (await plane.get(`${path}?labelSelector=a%3Db`, { accept })).body;
      expect(none).toMatchObject({ kind: 'Table', rows: [] });
      expect(none.columnDefinitions.length).toBeGreaterThan(5);
    });

    test('v1beta1 differs in nothing but its name', async () => {
      const now = (await plane.get(path, { accept })).body;
      const old = (await plane.get(path, { accept: accept.replace('v=v1', 'v=v1beta1') })).body;
      expect(old.apiVersion).toBe(`meta.${words.apiGroupDomain}/v1beta1`);
      expect(old.columnDefinitions).toEqual(now.columnDefinitions);
      expect(old.rows[0]?.object?.apiVersion).toBe(`meta.${words.apiGroupDomain}/v1beta1`);
    });

    test('a watch gives a table with one row for each event, with columns in the first', async () => {
      await using stream = await plane.watch(`${path}?watch=1`, { accept });
      const events = [await stream.next(), await stream.next()];
      expect(events.map((event) => event?.object.rows.map(({ cells }) => cells[0]))).toEqual([['a'], ['b']]);
      expect(events[0]?.object.columnDefinitions.length).toBeGreaterThan(5);
      expect(events[1]?.object.columnDefinitions ?? []).toEqual([]);
    });
  });

  test('responses to writes and failures', async () => {
    const path = `${await plane.namespace()}/configmaps`;
    const made = await plane.call('POST', path, configMap('a'), { headers: { accept } });
    // Whole seconds since the second in which it was made, which may be over.
    const age = expect.stringMatching(/^\d+s$/) as string;
    expect(made).toMatchObject({ status: 201, body: { kind: 'Table', rows: [{ cells: ['a', 1, age] }] } });
    // A client that lists several forms gets a Status in one that it takes.
    const missing = await plane.get(`${path}/none`, { accept: `${accept},application/json` });
    expect(missing).toMatchObject({ status: 404, body: { kind: 'Status', reason: 'NotFound' } });
  });
});
