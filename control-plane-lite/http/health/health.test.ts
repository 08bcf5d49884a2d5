import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { startTestServer, type TestServer } from '../server.fixture.ts';
import { createHealth, type Health, type HealthOptions, PassingStateError } from './health.ts';

interface Started extends AsyncDisposable {
  readonly health: Health;
  readonly clock: FakeClock;
  probe(path: string): Promise<readonly [status: number, text: string]>;
}

async function start(options: Partial<HealthOptions> = {}): Promise<Started> {
  const clock = createFakeClock();
  const health = createHealth(
    { clock, log: silentLogger },
    { checks: [{ name: 'store', check: () => undefined }], ...options },
  );
  const server: TestServer = await startTestServer({ deps: { routes: health.routes } });
  return {
    health,
    clock,
    async probe(path) {
      const { statusCode, body } = await request(server.url + path);
      return [statusCode, await body.text()];
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const failing = (): void => {
  throw new Error('disk is gone');
};

describe('a healthy server', () => {
  test.each([
    ['/healthz', 200, 'ok'],
    ['/livez', 200, 'ok'],
    ['/readyz/', 200, 'ok'],
    ['/healthz?verbose', 200, '[+]ping ok\n[+]store ok\nhealthz check passed\n'],
    ['/readyz?verbose=1', 200, '[+]ping ok\n[+]store ok\n[+]shutdown ok\nreadyz check passed\n'],
    ['/livez?verbose&exclude=store', 200, '[+]ping ok\n[+]store excluded: ok\nlivez check passed\n'],
    [
      '/livez?verbose&exclude=b&exclude=a',
      200,
      '[+]ping ok\n[+]store ok\nwarn: some health checks cannot be excluded: no matches for "a","b"\nlivez check passed\n',
    ],
    ['/livez/ping', 200, 'ok'],
    ['/livez/store', 200, 'ok'],
    ['/livez/shutdown', 404, '404 page not found\n'],
    ['/livez/nothing', 404, '404 page not found\n'],
  ])('responds to %s', async (path, status, text) => {
    await using started = await start();
    expect(await started.probe(path)).toEqual([status, text]);
  });
});

describe('a server with a failing check', () => {
  const checks = [{ name: 'store', check: failing }];

  test.each([
    ['/readyz', 500, '[+]ping ok\n[-]store failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n'],
    ['/readyz/store', 500, 'internal server error: disk is gone\n'],
    ['/readyz?exclude=store', 200, 'ok'],
  ])('responds to %s', async (path, status, text) => {
    await using started = await start({ checks });
    expect(await started.probe(path)).toEqual([status, text]);
  });

  test('is alive while it starts, if the check belongs to the start', async () => {
    const startup = [{ name: 'hook/rbac', check: failing, startup: true }];
    await using started = await start({ checks: startup, livezGraceMs: 1000 });
    expect((await started.probe('/livez'))[0]).toBe(200);
    expect((await started.probe('/readyz'))[0]).toBe(500);
    await started.clock.advance(1000);
    expect((await started.probe('/livez/hook/rbac'))[0]).toBe(500);
  });

  test('runs only the checks of an endpoint', async () => {
    await using started = await start({ checks: [{ name: 'sync', check: failing, on: ['readyz'] }] });
    expect((await started.probe('/livez'))[0]).toBe(200);
    expect((await started.probe('/readyz'))[0]).toBe(500);
  });
});

test('a server that is ending is alive but not ready', async () => {
  await using started = await start();
  started.health.beginShutdown();
  expect((await started.probe('/livez'))[0]).toBe(200);
  expect(await started.probe('/readyz')).toEqual([
    500,
    '[+]ping ok\n[+]store ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n',
  ]);
});

test('a check that fails is logged once for each reason, a state of every start as no warning', async () => {
  const lines: string[] = [];
  const note = (level: string) => (fields: object, message: string) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  };
  let thrown: Error | undefined = new PassingStateError('not all there');
  const health = createHealth(
    { clock: createFakeClock(), log: { ...silentLogger, warn: note('W'), info: note('I') } },
    {
      checks: [
        {
          name: 'etcd',
          check: () => {
            if (thrown !== undefined) throw thrown;
          },
        },
      ],
    },
  );
  await using server = await startTestServer({ deps: { routes: health.routes } });
  const probe = async (): Promise<void> => {
    for (const endpoint of ['readyz', 'livez', 'healthz', 'readyz/etcd']) {
      await (await request(`${server.url}/${endpoint}`)).body.dump();
    }
  };
  await probe();
  thrown = new Error('gone', { cause: new Error('disk is gone') });
  await probe();
  thrown = undefined;
  await probe();
  expect(lines).toEqual([
    'I Health check not passing yet {"check":"etcd","reason":"not all there"}',
    'W Health check failed {"check":"etcd","reason":"gone: disk is gone"}',
    'I Health check recovered {"check":"etcd"}',
  ]);
});
