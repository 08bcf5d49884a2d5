/** Published vulnerabilities of upstream's API server that no other test covers (`docs/security.md`). */
import { writeFile } from 'node:fs/promises';
import { Writable } from 'node:stream';
import { connect, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { API_ALONE, startTestPlane } from '#plane/main.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { define } from './definitions.ts';
import { usePlane } from './support.ts';

describe('CVE-2022-3162: custom resources of one group', () => {
  const plane = usePlane();

  test('a continue token with the key of another kind shows only objects of its own', async () => {
    const plums = await define(plane, { plural: 'plums' });
    const trees = await define(plane, { plural: 'plumtrees' });
    await plums.create('a');
    await trees.create('hidden');
    const page = await plane.get(`${plums.collection()}?limit=1`);
    const rv = Number(page.body.metadata.resourceVersion);
    const keys = ['../plumtrees/default/a', '../plumtrees/', 'trees/default/a', 'default/../../plumtrees/a'];
    for (const start of keys) {
      const token = { v: `meta.${plane.words.apiGroupDomain}/v1`, rv, start };
      const encoded = Buffer.from(JSON.stringify(token)).toString('base64url');
      const { status, text } = await plane.get(`${plums.collection()}?limit=9&continue=${encoded}`);
      expect([start, [200, 400].includes(status), text.includes('hidden')]).toEqual([start, true, false]);
    }
  });
});

/** An anonymous connection. */
async function connection(url: string, protocol: 'h2' | 'http/1.1'): Promise<TLSSocket> {
  const port = Number(new URL(url).port);
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: [protocol], rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('secureConnect', resolve));
  return socket;
}

describe('CVE-2019-16276: ambiguous requests', () => {
  const plane = usePlane();
  const inner = 'GET /version HTTP/1.1\r\nHost: a\r\n\r\n';
  const chunked = 'Transfer-Encoding: chunked\r\n';

  test.each([
    ['a space before a colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`],
    ['a length and chunks', `Content-Length: 4\r\n${chunked}\r\n0\r\n\r\n${inner}`],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`],
    ['a signed length', `Content-Length: +0\r\n\r\n${inner}`],
    ['an unknown coding', `Transfer-Encoding: xchunked\r\n\r\n${inner}`],
    ['chunks that are not last', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${inner}`],
    ['a folded line', `Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${inner}`],
    ['a bare line feed', `Content-Length: 0\n\n${inner}`],
    ['a bad chunk size', `${chunked}\r\n0x0\r\n\r\n${inner}`],
  ])('%s are rejected, and nothing behind them is read', async (_, rest) => {
    const socket = await connection(plane.server.url, 'http/1.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(`POST /livez HTTP/1.1\r\nHost: a\r\n${rest}`);
    await closed;
    expect(text).not.toContain('gitVersion');
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([expect.stringMatching(/ 400$/)]);
  });
});

describe('CVE-2019-9512, CVE-2019-9515: floods of frames that require a response', () => {
  const plane = usePlane();
  const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
  const ping = Buffer.from([0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);

  test.each([
    ['PING', ping],
    ['SETTINGS', settings],
  ])('a client that sends %s and reads nothing is disconnected', async (_, frame) => {
    const socket = await connection(plane.server.url, 'h2');
    socket.pause();
    let closed = false;
    socket.on('close', () => (closed = true));
    socket.write(Buffer.concat([preface, settings]));
    const flood = Buffer.concat(Array.from({ length: 10_000 }, () => frame));
    await eventually(() => {
      if (!closed && socket.writableLength < 10 * flood.length) socket.write(flood);
      return closed || socket.destroyed;
    });
    expect((await plane.get('/livez')).status).toBe(200);
  });
});

// CVE-2019-11250, CVE-2020-8563, CVE-2020-8564, CVE-2020-8565, CVE-2020-8566
test('the most verbose log contains neither tokens nor Secrets', async () => {
  await using dir = await createTempDir('na-verbose-');
  await writeFile(`${dir.path}/tokens`, 'static-hunter2,ann,1,"system:masters"\n');
  const lines: string[] = [];
  const sink = new Writable({
    write: (chunk: Buffer, _, done) => {
      lines.push(chunk.toString());
      done();
    },
  });
  const flags = [...API_ALONE, '--token-auth-file', `${dir.path}/tokens`, '-v=10'];
  await using plane = await startTestPlane(flags, pino({ level: 'trace' }, sink));
  const headers = { authorization: 'Bearer static-hunter2' };
  const namespace = '/api/v1/namespaces/default';
  const data = Buffer.from('secret-hunter2').toString('base64');
  const send = async (path: string, body: object): Promise<string> => {
    const { status, text } = await plane.call('POST', path, { body, headers, anonymous: true });
    expect([path, status]).toEqual([path, 201]);
    return text;
  };
  await send(`${namespace}/secrets`, { metadata: { name: 's' }, data: { password: data } });
  await send(`${namespace}/serviceaccounts`, { metadata: { name: 'robot' } });
  const issued = await send(`${namespace}/serviceaccounts/robot/token`, { spec: {} });
  const { token } = (JSON.parse(issued) as { status: { token: string } }).status;
  const own = { authorization: `Bearer ${token}` };
  expect((await plane.call('GET', '/version', { headers: own, anonymous: true })).status).toBe(200);
  const bad = { authorization: 'Bearer wrong-hunter2' };
  expect((await plane.call('GET', '/version', { headers: bad, anonymous: true })).status).toBe(401);

  const log = lines.join('');
  expect(log.length).toBeGreaterThan(0);
  for (const secret of ['hunter2', data, token, token.split('.')[2] ?? '']) expect(log).not.toContain(secret);
});
