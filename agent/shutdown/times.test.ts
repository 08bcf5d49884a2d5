import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createStateFile } from '../resources/state/state-file.ts';
import { createShutdownTimes } from './times.ts';

function setUp(path: string) {
  const registry = createMetricsRegistry();
  const clock = createFakeClock();
  const times = createShutdownTimes({ clock, log: silentLogger, registry, file: createStateFile(path) });
  const gauges = (): readonly number[] =>
    ['start', 'end'].map((word) =>
      Number(new RegExp(`^graceful_shutdown_${word}_time_seconds (\\d+)$`, 'm').exec(registry.text())?.[1]),
    );
  return { clock, times, gauges };
}

test('shutdown times are reported, also by the next agent', async () => {
  await using dir = await createTempDir('na-times-');
  const path = `${dir.path}/state`;
  const { clock, times, gauges } = setUp(path);
  await times.load();
  expect(gauges()).toEqual([0, 0]);
  times.began();
  const beganS = Math.floor(clock.now() / 1000);
  expect(gauges()).toEqual([beganS, 0]);
  await clock.advance(7000);
  await times.ended();
  expect(gauges()).toEqual([beganS, beganS + 7]);
  expect(Object.keys(JSON.parse(await readFile(path, 'utf8')) as object)).toEqual(['startTime', 'endTime']);

  const next = setUp(path);
  await next.times.load();
  expect(next.gauges()).toEqual([beganS, beganS + 7]);
  next.times.began();
  expect(next.gauges()).toEqual([beganS, 0]);
});

test.each(['{', '[]', '7', '{"startTime":7,"endTime":"then"}'])('ignores a file with %s', async (text) => {
  await using dir = await createTempDir('na-times-');
  await writeFile(`${dir.path}/state`, text);
  const { times, gauges } = setUp(`${dir.path}/state`);
  await times.load();
  expect(gauges()).toEqual([0, 0]);
});
