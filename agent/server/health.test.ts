import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createWaits } from '#api/kit/waits.ts';
import { createAgentHealth, healthRoutes } from './health.ts';

test('an unavailable runtime fails syncloop after two minutes, but never the liveness endpoint', async () => {
  const clock = createFakeClock();
  const waits = createWaits({ clock, log: silentLogger });
  const health = createAgentHealth({ clock, waits, runtimeWait: 'container runtime' });
  const ask = async (path: string, query = ''): Promise<unknown> => {
    const route = healthRoutes(health).find((each) => each.path === path);
    return await route?.handle({
      params: {},
      query: new URLSearchParams(query),
      body: () => Promise.resolve(''),
      signal: new AbortController().signal,
    });
  };
  const wait = waits.begin('container runtime unix:///s', 'refused');
  waits.begin('container runtimes of others');
  await clock.advance(119_999);
  expect(await ask('/healthz/syncloop')).toEqual({ kind: 'text', text: 'ok' });
  await clock.advance(1);
  expect(await ask('/healthz/syncloop')).toMatchObject({
    status: 500,
    text: 'internal server error: waiting for container runtime unix:///s (120 s): refused\n',
  });
  expect(await ask('/healthz')).toEqual({ kind: 'text', text: 'ok' });
  expect(await ask('/healthz', 'verbose')).toMatchObject({
    text: '[+]ping ok\nwaiting for container runtime unix:///s (120 s): refused\nwaiting for container runtimes of others (120 s)\nhealthz check passed\n',
  });
  wait.end();
  expect(await ask('/healthz/syncloop')).toEqual({ kind: 'text', text: 'ok' });
});

// CVE-2019-11248: profiles were served on the health port, which requires no authentication.
test('the open health port serves health and nothing else', () => {
  const clock = createFakeClock();
  const waits = createWaits({ clock, log: silentLogger });
  const routes = healthRoutes(createAgentHealth({ clock, waits, runtimeWait: 'container runtime' }));
  expect(routes.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /healthz',
    'GET /healthz/ping',
    'GET /healthz/syncloop',
  ]);
});
