import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { SystemdNotifier } from '#api/kit/systemd/notify.ts';
import { createWaits } from '#api/kit/waits.ts';
import { reportToSystemd } from './report.ts';

function setUp() {
  const clock = createFakeClock(0);
  const waits = createWaits({ clock, log: silentLogger });
  const sent: string[] = [];
  const notifier: SystemdNotifier = {
    ready: (status) => void sent.push(`ready: ${status}`),
    stopping: () => undefined,
    status: (text) => void sent.push(text),
    extendStart: (byMs) => void sent.push(`extend ${byMs}`),
    runWatchdog: () => Promise.resolve(),
  };
  const canRun = Promise.withResolvers<void>();
  const stop = new AbortController();
  const deps = { clock, notifier, waits, canRun: canRun.promise, node: 'n' };
  const done = reportToSystemd(deps, stop.signal);
  return { clock, waits, sent, canRun, stop, done };
}

describe('reportToSystemd', () => {
  test('is ready once pods can run, with the reason until then and without a start timeout', async () => {
    const { clock, waits, sent, canRun, stop, done } = setUp();
    const wait = waits.begin('container runtime unix:///s', 'the socket does not exist');
    await clock.advance(31_000);
    expect(sent).toEqual([
      'Node n is starting',
      'extend 60000',
      'Node n is starting; waiting for container runtime unix:///s since 1970-01-01T00:00:00Z, the socket does not exist',
      'extend 60000',
      'extend 60000',
    ]);
    sent.length = 0;
    wait.end();
    canRun.resolve();
    await clock.advance(0);
    await clock.advance(60_000);
    expect(sent).toEqual(['Node n is starting', 'ready: Node n is up']);
    stop.abort();
    await done;
  });

  test('reports later waits while they last', async () => {
    const { clock, waits, sent, canRun, stop, done } = setUp();
    canRun.resolve();
    await clock.advance(0);
    sent.length = 0;
    const wait = waits.begin('API server');
    await clock.advance(5000);
    wait.end();
    expect(sent).toEqual(['Node n is up; waiting for API server since 1970-01-01T00:00:00Z', 'Node n is up']);
    stop.abort();
    await done;
    waits.begin('more');
    await clock.advance(10_000);
    expect(sent).toHaveLength(2);
  });

  test('is never ready when it stops earlier', async () => {
    const { clock, sent, stop, done } = setUp();
    stop.abort();
    await done;
    await clock.advance(60_000);
    expect(sent.filter((text) => text.startsWith('ready') || text.startsWith('extend'))).toEqual([]);
  });
});
