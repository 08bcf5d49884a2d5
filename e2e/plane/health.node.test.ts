/** Health endpoints and graceful shutdown. Document 1 §4.10. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { parseConfig } from '#plane/config/parse.ts';
import { startServer } from '#plane/main.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { configMap, usePlane } from './support.ts';

describe.each(['healthz', 'livez', 'readyz'])('/%s', (endpoint) => {
  const plane = usePlane();
  const nobody = plane.as('');
  const { componentPrefix: prefix } = VOCABULARIES.plat;

  test('is 200 and ok, for everybody', async () => {
    const { status, text, headers } = await nobody.get(`/${endpoint}`);
    expect({ status, text }).toEqual({ status: 200, text: 'ok' });
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test('verbose has a line for each check and one at the end', async () => {
    const { status, text } = await nobody.get(`/${endpoint}?verbose`);
    expect(status).toBe(200);
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^\[\+\][a-z/-]+ ok$/);
    expect(lines.at(-1)).toBe(`${endpoint} check passed`);
  });

  test('exclude skips checks; an unknown check is reported', async () => {
    const { status, text } = await nobody.get(
      `/${endpoint}?verbose&exclude=ping&exclude=store&exclude=nonsense`,
    );
    expect(status).toBe(200);
    expect(text).toContain('[+]ping excluded: ok\n');
    expect(text).toContain('[+]etcd excluded: ok\n');
    expect(text).toContain('warn: some health checks cannot be excluded: no matches for "nonsense"');
  });

  test('checks have the names of upstream, and may be excluded by the names that they had', async () => {
    const named = (text: string): readonly string[] =>
      [...text.matchAll(/^\[\+\](\S+) /gm)].map(([, name]) => name ?? '');
    const { text } = await nobody.get(`/${endpoint}?verbose`);
    expect(named(text)).toEqual([
      'ping',
      'log',
      'etcd',
      ...(endpoint === 'readyz' ? ['informer-sync'] : []),
      `poststarthook/start-${prefix}-apiserver-admission-initializer`,
      'poststarthook/generic-apiserver-start-informers',
      'poststarthook/start-apiextensions-informers',
      'poststarthook/start-apiextensions-controllers',
      'poststarthook/crd-informer-synced',
      'poststarthook/bootstrap-controller',
      'poststarthook/rbac/bootstrap-roles',
      'poststarthook/scheduling/bootstrap-system-priority-classes',
      'poststarthook/start-cluster-authentication-info-controller',
      `poststarthook/start-${prefix}-aggregator-informers`,
      'poststarthook/apiservice-registration-controller',
      'poststarthook/apiservice-status-available-controller',
      `poststarthook/${prefix}-apiserver-autoregistration`,
      'autoregister-completion',
      'poststarthook/apiservice-openapi-controller',
      ...(endpoint === 'readyz' ? ['shutdown'] : []),
    ]);
    const excluded = await nobody.get(`/${endpoint}?verbose&exclude=etcd&exclude=bootstrap`);
    expect(excluded.text).toContain('[+]etcd excluded: ok\n[');
    expect(excluded.text).toContain('[+]poststarthook/rbac/bootstrap-roles excluded: ok\n');
    expect(excluded.text).not.toContain('warn:');
    expect((await plane.get(`/${endpoint}/store`)).text).toBe('ok');
  });

  test('each check has a path of its own, named as in the lines', async () => {
    const { text } = await nobody.get(`/${endpoint}?verbose`);
    const names = [...text.matchAll(/^\[\+\](\S+) ok$/gm)].map(([, name]) => name ?? '');
    for (const name of names) {
      const one = await plane.get(`/${endpoint}/${name}`);
      expect({ name, status: one.status, text: one.text }).toEqual({ name, status: 200, text: 'ok' });
    }
    expect((await plane.get(`/${endpoint}/nonsense`)).status).toBe(404);
  });

  test('is read only', async () => {
    expect((await plane.post(`/${endpoint}`, {})).status).toBe(405);
  });
});

/** Waits until a mutating request is in flight. */
const IN_FLIGHT = 'apiserver_current_inflight_requests{request_kind="mutating"} 1';

describe('the end of a server', () => {
  /** A server and what it takes to talk to it. */
  async function started(...flags: readonly string[]) {
    const dir = await createTempDir('na-end-');
    const base = ['--data-dir', dir.path, '--bind-address=127.0.0.1', '--secure-port=0'];
    const server = await startServer(
      parseConfig([...base, '--authorization-mode=AlwaysAllow', '--anonymous-auth=true', ...flags]),
      silentLogger,
    );
    const agent = new Agent({ connect: { rejectUnauthorized: false }, allowH2: false });
    const get = (path: string) => request(server.url + path, { dispatcher: agent });
    const text = async (path: string): Promise<string> => (await get(path)).body.text();
    const status = async (path: string): Promise<number> => {
      const { statusCode, body } = await get(path);
      await body.dump();
      return statusCode;
    };
    await eventually(async () => (await status('/readyz')) === 200);
    return {
      server,
      agent,
      status,
      text,
      async [Symbol.asyncDispose]() {
        await agent.destroy();
        await server.close(AbortSignal.abort());
        await dir[Symbol.asyncDispose]();
      },
    };
  }

  test('--shutdown-delay-duration: not ready at once, alive and at work until the time is over', async () => {
    await using plane = await started('--shutdown-delay-duration=1h');
    const hurry = new AbortController();
    const closing = plane.server.close(hurry.signal);
    await eventually(async () => (await plane.status('/readyz')) === 500);
    expect(await plane.status('/readyz/shutdown')).toBe(500);
    expect(await plane.status('/livez')).toBe(200);
    expect(await plane.status('/healthz')).toBe(200);
    expect(await plane.status('/api/v1/namespaces')).toBe(200);
    hurry.abort();
    await closing;
    // A new connection: the errors of earlier ones depend on the progress of the shutdown.
    await expect(once(connect(plane.server.port, '127.0.0.1'), 'connect')).rejects.toThrow('ECONNREFUSED');
  });

  test('a request in flight gets its response, a watch ends gracefully', async () => {
    await using plane = await started();
    const path = `${plane.server.url}/api/v1/namespaces/default/configmaps`;
    const watch = await request(`${path}?watch=1`, { dispatcher: plane.agent });
    const body = JSON.stringify(configMap('last'));
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slowly(): AsyncGenerator<Buffer> {
      yield Buffer.from(body.slice(0, 10));
      await held;
      yield Buffer.from(body.slice(10));
    }
    const writing = request(path, {
      method: 'POST',
      dispatcher: plane.agent,
      headers: { 'content-type': 'application/json' },
      body: Readable.from(slowly()),
    });
    await eventually(async () => (await plane.text('/metrics')).includes(IN_FLIGHT));
    const closing = plane.server.close();
    const events = await watch.body.text();
    release?.();
    const { statusCode, body: result } = await writing;
    expect({ statusCode, text: await result.text() }).toMatchObject({
      statusCode: 201,
      text: expect.stringContaining('"name":"last"') as string,
    });
    expect(events).not.toContain('ERROR');
    await closing;
  });
});
