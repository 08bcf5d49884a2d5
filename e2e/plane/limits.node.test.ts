/** Limits: sizes, depth, time, requests at once. Document 1 §7 and 8. */
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { APPLY, configMap, JSON_PATCH, MERGE, type Plane, STRATEGIC, usePlane } from './support.ts';

const MIB = 1024 * 1024;
const nested = (depth: number, open: string, close: string): string =>
  open.repeat(depth) + close.repeat(depth);

describe('bodies', () => {
  const plane = usePlane();
  const path = '/api/v1/namespaces/default/configmaps';

  test.each<[string, string, string]>([
    ['POST', path, 'application/json'],
    ['POST', path, 'application/yaml'],
    ['POST', path, plane.words.protobufContentType],
    ['PUT', `${path}/a`, 'application/json'],
    ['PATCH', `${path}/a`, MERGE],
    ['PATCH', `${path}/a`, STRATEGIC],
    ['PATCH', `${path}/a`, JSON_PATCH],
    ['PATCH', `${path}/a?fieldManager=x`, APPLY],
    ['DELETE', `${path}/a`, 'application/json'],
  ])('%s %s of %s beyond 3 MiB is 413', async (method, to, type) => {
    const response = await plane.call(method, to, Buffer.alloc(3 * MIB + 1, ' '), { type });
    expect(response).toMatchObject({
      status: 413,
      body: { kind: 'Status', reason: 'RequestEntityTooLarge', code: 413 },
    });
  });

  test('a smaller body is accepted, if the object is valid', async () => {
    const padded = JSON.stringify(configMap('padded')) + ' '.repeat(2 * MIB);
    expect((await plane.post(path, padded)).status).toBe(201);
  });

  test('a compressed body counts as what it becomes', async () => {
    const { gzipSync } = await import('node:zlib');
    const bomb = gzipSync(Buffer.alloc(50 * MIB, ' '));
    expect(bomb.length).toBeLessThan(100_000);
    const response = await plane.call('POST', path, bomb, {
      type: 'application/json',
      headers: { 'content-encoding': 'gzip' },
    });
    expect(response.status).toBe(413);
  });

  const levels = 12;
  const aliases = Array.from(
    { length: levels },
    (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`,
  ).join('\n');
  test.each<[string, string, string]>([
    ['deep JSON', 'application/json', `{"metadata":{"name":"x"},"data":${nested(5000, '[', ']')}}`],
    ['deep YAML', 'application/yaml', `metadata: {name: x}\ndata: ${nested(5000, '[', ']')}\n`],
    ['YAML whose aliases grow', 'application/yaml', `a0: &a0 [x,x,x,x,x,x,x,x,x]\n${aliases}\n`],
    ['keys of the prototype', 'application/json', '{"metadata":{"name":7,"__proto__":{}}}'],
  ])('%s is 400, soon', async (_, type, text) => {
    const startedMs = performance.now();
    const response = await plane.call('POST', path, text, { type });
    expect(response).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
    expect(performance.now() - startedMs).toBeLessThan(20_000);
  });

  test('heads and paths have limits too', async () => {
    const long = await plane.get(path, { 'x-long': 'x'.repeat(100_000) });
    expect(long.status).toBe(431);
    expect((await plane.get(`${path}?labelSelector=${'a,'.repeat(9000)}a`)).status).toBe(400);
    expect((await plane.get('/livez')).status).toBe(200);
  });
});

/** A body that pauses after its beginning, until the test resumes it. */
function held(text: string): { readonly body: Readable; readonly release: () => void } {
  const gate = Promise.withResolvers<void>();
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(text.slice(0, 5));
    await gate.promise;
    yield Buffer.from(text.slice(5));
  }
  return { body: Readable.from(pieces()), release: () => gate.resolve() };
}

const slowPost = async (plane: Plane, path: string, body: Readable, token = ''): Promise<number> => {
  const { statusCode, body: response } = await request(plane.server.url + path, {
    method: 'POST',
    dispatcher: token === '' ? plane.server.agent : plane.server.anonymousAgent,
    headers: {
      'content-type': 'application/json',
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    },
    body,
  });
  await response.dump();
  return statusCode;
};

describe('time', () => {
  // Longer than a busy machine makes any other request here wait.
  const plane = usePlane('plat', ['--request-timeout=2s']);
  const path = '/api/v1/namespaces/default/configmaps';

  test('a request that takes longer than --request-timeout is 504', async () => {
    const { body, release } = held(JSON.stringify(configMap('slow')));
    expect(await slowPost(plane, path, body)).toBe(504);
    release();
    expect((await plane.get(`${path}/slow`)).status).toBe(404);
  });

  test.each(['timeout=soon', 'timeout=-1s', 'timeoutSeconds=x'])('%s is 400', async (query) => {
    expect((await plane.get(`${path}?${query}`)).status).toBe(400);
  });

  test('watches are not cut off by it', async () => {
    await using stream = await plane.watch(`${path}?watch=1&timeoutSeconds=3`);
    const startedMs = performance.now();
    while ((await stream.next()) !== undefined);
    expect(performance.now() - startedMs).toBeGreaterThan(2900);
  });
});

describe('a time limit of the client', () => {
  const plane = usePlane();

  test('?timeout= requests less', async () => {
    const { body, release } = held(JSON.stringify(configMap('slow')));
    expect(await slowPost(plane, '/api/v1/namespaces/default/configmaps?timeout=50ms', body)).toBe(504);
    release();
  });
});

describe('requests at once', () => {
  const plane = usePlane('plat', async (dir) => {
    await writeFile(`${dir}/tokens`, 'ann-t,ann,1\nbob-t,bob,2\n');
    const slots = ['--max-mutating-requests-inflight=1', '--max-requests-inflight=50'];
    const plain = '--enable-priority-and-fairness=false';
    return [`--token-auth-file=${dir}/tokens`, '--authorization-mode=AlwaysAllow', plain, ...slots];
  });
  const path = '/api/v1/namespaces/default/configmaps';
  const waiting = async (): Promise<number> => {
    const { text } = await plane.get('/metrics');
    return Number(
      /^apiserver_current_inqueue_requests\{request_kind="mutating"\} (\d+)$/m.exec(text)?.[1] ?? 0,
    );
  };

  test('requests beyond wait; one client’s many do not block another’s one; reads and watches continue', async () => {
    const first = held(JSON.stringify(configMap('first')));
    const blocking = slowPost(plane, path, first.body, 'ann-t');
    await eventually(async () =>
      (await plane.get('/metrics')).text.includes(
        'apiserver_current_inflight_requests{request_kind="mutating"} 1',
      ),
    );
    const done: string[] = [];
    const note =
      (name: string) =>
      (reply: { readonly status: number }): void =>
        void done.push(`${name} ${reply.status}`);
    const many = Array.from({ length: 20 }, (_, n) =>
      plane
        .as('ann-t')
        .post(path, configMap(`ann-${n}`))
        .then(note('ann')),
    );
    await eventually(async () => (await waiting()) >= 20);
    const one = plane.as('bob-t').post(path, configMap('bob')).then(note('bob'));
    await eventually(async () => (await waiting()) >= 21);
    expect((await plane.get(path)).status).toBe(200);
    await using stream = await plane.watch(`${path}?watch=1`);
    expect(stream.status).toBe(200);
    first.release();
    expect(await blocking).toBe(201);
    await Promise.all([...many, one]);
    expect(done.indexOf('bob 201')).toBeLessThan(5);
    expect(done.filter((text) => text === 'ann 201')).toHaveLength(20);
  });
});
