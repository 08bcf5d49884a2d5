/** Lists in pages. Document 1 §4.4, 7 and 8. */
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { eventually } from '../../testing/wait.ts';
import { type Body, configMap, type Plane, type Reply, usePlane } from './support.ts';

const namesOf = ({ items }: Body): readonly (string | undefined)[] =>
  items.map(({ metadata }) => metadata.name);
const tokenOf = ({ metadata }: Body): string => metadata.continue ?? '';

async function fill(plane: Plane, count: number): Promise<string> {
  const path = `${await plane.namespace()}/configmaps`;
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      plane.post(path, configMap(`m${index}`, '1', { labels: { a: 'b' } })),
    ),
  );
  return path;
}

describe('paging', () => {
  const plane = usePlane();
  let path = '';
  beforeAll(async () => {
    path = await fill(plane, 7);
  });

  test('limit gives at most so many items and a token for more', async () => {
    const { body } = await plane.get(`${path}?limit=3`);
    expect(namesOf(body)).toEqual(['m0', 'm1', 'm2']);
    expect(tokenOf(body)).not.toBe('');
    expect((await plane.get(`${path}?limit=7`)).body.items).toHaveLength(7);
    expect((await plane.get(`${path}?limit=0`)).body.items).toHaveLength(7);
  });

  test('continue gives the next page, and the last has no token', async () => {
    const seen: (string | undefined)[] = [];
    let token = '';
    do {
      const { body } = await plane.get(`${path}?limit=3&continue=${token}`);
      seen.push(...namesOf(body));
      token = tokenOf(body);
      expect(body.items.length).toBe(token === '' ? 1 : 3);
    } while (token !== '');
    expect(seen).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6']);
  });

  test('continue without limit gives all the rest', async () => {
    const first = await plane.get(`${path}?limit=2`);
    const rest = await plane.get(`${path}?continue=${tokenOf(first.body)}`);
    expect(rest.body.items).toHaveLength(5);
    expect(tokenOf(rest.body)).toBe('');
  });

  test('remainingItemCount counts what is left, and is absent with selectors and at the end', async () => {
    const first = await plane.get(`${path}?limit=3`);
    expect(first.body.metadata.remainingItemCount).toBe(4);
    const second = await plane.get(`${path}?limit=3&continue=${tokenOf(first.body)}`);
    expect(second.body.metadata.remainingItemCount).toBe(1);
    const last = await plane.get(`${path}?limit=3&continue=${tokenOf(second.body)}`);
    expect(last.body.metadata).not.toHaveProperty('remainingItemCount');
    expect((await plane.get(path)).body.metadata).not.toHaveProperty('remainingItemCount');
    for (const selector of ['labelSelector=a%3Db', 'fieldSelector=metadata.name!%3Dx']) {
      const { body } = await plane.get(`${path}?limit=3&${selector}`);
      expect(tokenOf(body)).not.toBe('');
      expect(body.metadata).not.toHaveProperty('remainingItemCount');
    }
  });

  test('all pages are of one version: later changes are not visible', async () => {
    const own = await fill(plane, 5);
    const first = await plane.get(`${own}?limit=2`);
    await plane.delete(`${own}/m3`);
    await plane.post(own, configMap('m31'));
    await plane.put(`${own}/m4`, configMap('m4', 'changed'));
    const rest = await plane.get(`${own}?limit=9&continue=${tokenOf(first.body)}`);
    expect(namesOf(rest.body)).toEqual(['m2', 'm3', 'm4']);
    expect(rest.body.items.at(-1)?.data).toEqual({ value: '1' });
    expect(rest.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
  });

  test('a watch from the version of the pages misses nothing', async () => {
    const own = await fill(plane, 3);
    const first = await plane.get(`${own}?limit=2`);
    await plane.post(own, configMap('x'));
    await plane.get(`${own}?limit=2&continue=${tokenOf(first.body)}`);
    await plane.delete(`${own}/m0`);
    await using stream = await plane.watch(
      `${own}?watch=1&resourceVersion=${first.body.metadata.resourceVersion}`,
    );
    expect(await stream.take(2)).toEqual(['ADDED x', 'DELETED m0']);
  });

  test('paging with a selector leaves nothing out', async () => {
    const first = await plane.get(`${path}?limit=4&labelSelector=a`);
    const rest = await plane.get(`${path}?limit=4&labelSelector=a&continue=${tokenOf(first.body)}`);
    expect([...namesOf(first.body), ...namesOf(rest.body)]).toHaveLength(7);
  });

  test.each(['nonsense', 'eyJ2IjoibWV0YSJ9', '%00'])('a token that is none (%s) is 400', async (token) => {
    const response = await plane.get(`${path}?limit=3&continue=${token}`);
    expect(response).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });
});

describe('history that is over', () => {
  const plane = usePlane('plat', ['--compaction-interval=150ms']);

  /** Lists, makes the version of the list old, and waits until it is. */
  async function age(path: string): Promise<Body> {
    const first = await plane.get(`${path}?limit=1`);
    await plane.put(`${path}/m0`, configMap('m0', 'changed'));
    await eventually(
      async () => (await plane.get(`${path}?limit=1&continue=${tokenOf(first.body)}`)).status === 410,
    );
    return first.body;
  }

  test('an expired token is 410, with a token for the rest as it is now', async () => {
    const path = await fill(plane, 3);
    const old = await age(path);
    await plane.delete(`${path}/m1`);
    const gone = await plane.get(`${path}?limit=1&continue=${tokenOf(old)}`);
    expect(gone).toMatchObject({
      status: 410,
      body: { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 },
    });
    const rest = await plane.get(`${path}?continue=${tokenOf(gone.body)}`);
    expect(rest.status).toBe(200);
    expect(namesOf(rest.body)).toEqual(['m2']);
  });

  test('an Exact version that is no longer retained is 410', async () => {
    const path = await fill(plane, 2);
    const { resourceVersion } = (await age(path)).metadata;
    const exact = `resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
    for (const query of [exact, `${exact}&limit=1`, `resourceVersion=${resourceVersion}&limit=1`]) {
      expect(await plane.get(`${path}?${query}`)).toMatchObject({ status: 410, body: { reason: 'Expired' } });
    }
    const notOlder = await plane.get(
      `${path}?limit=1&resourceVersion=${resourceVersion}&resourceVersionMatch=NotOlderThan`,
    );
    expect(notOlder.status).toBe(200);
  });

  describe('a watch from a version that is no longer retained is 200 with an ERROR event of 410', () => {
    const EXPIRED = { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 };
    const expired = { type: 'ERROR', object: EXPIRED };
    const domain = plane.words.apiGroupDomain;

    /** The path of a watch that has expired. */
    async function expiredWatch(): Promise<string> {
      const path = await fill(plane, 2);
      const { resourceVersion } = (await age(path)).metadata;
      const watch = `${path}?watch=1&timeoutSeconds=1&resourceVersion=${resourceVersion}`;
      await eventually(async () => (await plane.get(watch)).text.includes('ERROR'));
      return watch;
    }

    test('over HTTP, in every form', async () => {
      const watch = await expiredWatch();
      const nextPage = async (accept: string): Promise<Reply> => {
        const reply = await plane.get(watch, { accept });
        expect(reply.status).toBe(200);
        return reply;
      };
      const asTable = `application/json;as=Table;g=meta.${domain};v=v1`;
      const asPartial = `application/json;as=PartialObjectMetadata;g=meta.${domain};v=v1`;
      for (const accept of ['application/json', asTable, asPartial]) {
        expect(JSON.parse((await nextPage(accept)).text)).toMatchObject(expired);
      }
      const yaml = await nextPage('application/yaml');
      expect(yaml.text).toMatch(/type: ERROR[^]*code: 410/);
      const { bytes } = await nextPage(`${plane.words.protobufContentType};stream=watch`);
      const frame = bytes.subarray(4);
      expect(bytes.readUInt32BE(0)).toBe(frame.length);
      expect(frame.subarray(0, 7).toString('latin1')).toBe('\x0a\x05ERROR');
      const object = frame.subarray(frame.indexOf('6b387300', 'hex'));
      expect(plane.protobuf.decode(object, { apiVersion: 'v1', kind: 'Status' })).toMatchObject(EXPIRED);
      const packed = await plane.get(watch, { 'accept-encoding': 'gzip' });
      expect(packed).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
      expect(JSON.parse(gunzipSync(packed.bytes).toString())).toMatchObject(expired);
    });

    test('over a WebSocket', async () => {
      const watch = await expiredWatch();
      const socket = new WebSocket(
        `${plane.server.url.replace('https', 'wss')}${watch}`,
        plane.server.credentials(),
      );
      const frames: string[] = [];
      socket.on('message', (data: Buffer) => frames.push(data.toString()));
      await new Promise((resolve, reject) => {
        socket.on('error', reject);
        socket.on('close', resolve);
      });
      expect(frames.map((frame): unknown => JSON.parse(frame))).toMatchObject([expired]);
    });
  });
});
