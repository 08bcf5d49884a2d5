import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createFakeClock, type FakeClock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createManifestReader } from '../manifest-set.ts';
import type { SourceSnapshot } from '../types.ts';
import { createUrlSource, type UrlSourceOptions } from './url.ts';
import { createFetchUrl } from './url-fetch.ts';

const words = VOCABULARIES.plat;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let handler: Handler;
let requests: IncomingMessage[] = [];
let base = '';
let stop = new AbortController();
let running: Promise<void> = Promise.resolve();
let snapshots: SourceSnapshot[] = [];
let clock: FakeClock;

async function listen(target: Server): Promise<string> {
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  const address = target.address();
  return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
}

beforeEach(async () => {
  requests = [];
  snapshots = [];
  stop = new AbortController();
  clock = createFakeClock();
  server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  base = await listen(server);
});

afterEach(async () => {
  stop.abort();
  await running;
  server.closeAllConnections();
  server.close();
});

const pod = (name: string, image = 'busybox'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: main, image: ${image}}\n`;

function start(
  options: Partial<UrlSourceOptions> = {},
  fetchClock: Pick<FakeClock, 'setTimer'> = systemClock,
): void {
  const vocabulary = VOCABULARIES.plat;
  const source = createUrlSource(
    {
      clock,
      log: silentLogger,
      readManifests: createManifestReader({ clock, nodeName: 'n1', vocabulary }),
      fetchUrl: createFetchUrl({ clock: fetchClock, userAgent: 'agent-test' }),
    },
    { url: `${base}/pods.yaml`, checkMs: 20_000, ...options },
  );
  running = source.run(stop.signal, (snapshot) => snapshots.push(snapshot));
}

const last = (): SourceSnapshot | undefined => snapshots.at(-1);
const names = (): readonly string[] => (last()?.pods ?? []).map((entry) => entry.pod.metadata?.name ?? '');
const fieldErrors = (): readonly string[] =>
  (last()?.rejected ?? []).map(({ errors }) => errors[0]?.detail ?? '');
const responded = (count: number): Promise<void> =>
  vi.waitFor(() => expect(requests).toHaveLength(count), { timeout: 10_000, interval: 2 });
const delivered = (count: number): Promise<void> =>
  vi.waitFor(() => expect(snapshots).toHaveLength(count), { timeout: 10_000, interval: 2 });

/** Lets the next request start, whatever the scheduling of the code before it. */
async function recheck(count: number): Promise<void> {
  await vi.waitFor(
    async () => {
      await clock.advance(20_000);
      expect(requests.length).toBeGreaterThanOrEqual(count);
    },
    { timeout: 10_000, interval: 5 },
  );
}

const send =
  (body: string, status = 200, headers: Record<string, string> = {}): Handler =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);

describe('createUrlSource', () => {
  test('delivers a pod with its static identity', async () => {
    handler = send(pod('web'));
    start();
    await delivered(1);
    expect(last()?.pods[0]?.origin).toEqual({ source: 'url', location: `${base}/pods.yaml`, document: '1' });
    expect(last()?.pods[0]?.pod.metadata).toMatchObject({
      name: 'web-n1',
      namespace: 'default',
      annotations: { [words.configSource]: 'http' },
    });
    expect(last()?.partial).toBeUndefined();
  });

  test('delivers a list, and an empty list', async () => {
    const item = { metadata: { name: 'a' }, spec: { containers: [{ name: 'm', image: 'i' }] } };
    handler = send(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [item] }));
    start();
    await delivered(1);
    expect(names()).toEqual(['a-n1']);
    handler = send(JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [] }));
    await recheck(2);
    await delivered(2);
    expect(last()).toEqual({ source: 'url', pods: [], objects: [], rejected: [] });
  });

  test('sends every value of every header', async () => {
    handler = send(pod('web'));
    start({ headers: { 'X-Site': ['one', 'two'], Authorization: ['Bearer abc'] } });
    await responded(1);
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer abc', 'user-agent': 'agent-test' });
    expect(requests[0]?.headersDistinct['x-site']).toEqual(['one', 'two']);
  });

  test('logs in from the URL without showing the password or the query', async () => {
    handler = send('nonsense: [', 200);
    start({ url: `${base.replace('http://', 'http://me:secret@')}/p?token=hidden` });
    await delivered(1);
    expect(requests[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:secret').toString('base64')}`);
    expect(requests[0]?.url).toBe('/p?token=hidden');
    expect(JSON.stringify(snapshots)).not.toMatch(/secret|hidden/u);
    expect(last()?.rejected[0]?.origin.location).toBe(`${base}/p?…`);
  });

  test('delivers nothing while the content is unchanged, with and without validators', async () => {
    handler = send(pod('web'), 200, { etag: '"1"', 'last-modified': 'Tue, 14 Nov 2023 22:13:20 GMT' });
    start();
    await delivered(1);
    handler = send('', 304);
    await recheck(2);
    expect(requests[1]?.headers).toMatchObject({
      'if-none-match': '"1"',
      'if-modified-since': 'Tue, 14 Nov 2023 22:13:20 GMT',
    });
    handler = send(pod('web'));
    await recheck(requests.length + 1);
    handler = send(`# only a comment is new\n${pod('web')}`);
    await recheck(requests.length + 1);
    handler = send(pod('web', 'other'));
    await recheck(requests.length + 1);
    await delivered(2);
    expect(snapshots[1]?.pods[0]?.pod.spec?.containers[0]?.image).toBe('other');
  });

  test.each<[string, Handler, RegExp]>([
    ['status 404', send('not here', 404), /status 404 instead of 200/u],
    ['status 500', send(pod('evil'), 500), /status 500/u],
    ['an empty response', send(''), /response is empty/u],
    ['a malformed response', send('kind: {'), /./u],
    ['HTML', send('<html><body>login</body></html>'), /./u],
    ['too much', send(`# ${'x'.repeat(5000)}`), /exceeds the maximum of 4096 bytes/u],
    ['a redirect elsewhere', send('', 302, { location: 'http://127.0.0.2:1/' }), /another server/u],
    ['a redirect in circles', send('', 302, { location: '/again' }), /more than 5 times/u],
    [
      'a truncated response',
      (_q, r) => void r.writeHead(200, { 'content-length': '100' }).write('k', () => r.destroy()),
      /./u,
    ],
    ['a closed connection', (_q, r) => void r.destroy(), /./u],
  ])('retains the last good pods on %s, reports it, and recovers', async (_name, bad, message) => {
    handler = send(pod('web'));
    start({ maxBytes: 4096 });
    await delivered(1);
    handler = bad;
    await recheck(2);
    await delivered(2);
    expect(names()).toEqual(['web-n1']);
    expect(snapshots[1]?.pods[0]).toBe(snapshots[0]?.pods[0]);
    expect(fieldErrors()).toEqual([expect.stringMatching(message) as unknown]);
    handler = send(pod('web'));
    await recheck(requests.length + 1);
    await vi.waitFor(() => expect(last()?.rejected).toEqual([]), { timeout: 10_000 });
    expect(names()).toEqual(['web-n1']);
  });

  test('times out on a server that does not respond', async () => {
    handler = () => undefined;
    start({ timeoutMs: 10_000 }, clock);
    await responded(1);
    await clock.advance(10_000);
    await delivered(1);
    expect(fieldErrors()[0]).toContain('no complete response within 10000 ms');
  });

  test('follows a redirect on the same server', async () => {
    handler = (request, response) =>
      request.url === '/moved'
        ? send(pod('web'))(request, response)
        : send('', 307, { location: '/moved' })(request, response);
    start({ headers: { 'X-Token': ['t'] } });
    await delivered(1);
    expect(names()).toEqual(['web-n1']);
    expect(requests[1]?.headers['x-token']).toBe('t');
  });

  test('counts as unread until the first usable response, and is retried sooner until then', async () => {
    handler = send('', 503);
    start();
    await delivered(1);
    expect(last()).toMatchObject({ partial: true, pods: [] });
    handler = send(pod('web'));
    await vi.waitFor(
      async () => {
        await clock.advance(1000);
        expect(snapshots).toHaveLength(2);
      },
      { timeout: 10_000 },
    );
    expect(last()?.partial).toBeUndefined();
    expect(names()).toEqual(['web-n1']);
  });

  test('rejects another scheme', () => {
    expect(() => start({ url: 'file:///etc/passwd' })).toThrow(TypeError);
    expect(() => start({ url: 'nonsense' })).toThrow(/http:\/\//u);
  });

  test('ends on abort while a request hangs', async () => {
    handler = () => undefined;
    start();
    await responded(1);
    stop.abort();
    await running;
    expect(snapshots).toEqual([]);
  });
});
