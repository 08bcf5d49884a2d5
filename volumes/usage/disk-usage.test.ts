import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createDiskUsage } from './disk-usage.ts';
import type { Apart, MeasureTask } from './protocol.ts';

const POD = { uid: 'u', volumesDir: '/v', devicesDir: '/d', logsDir: '/l' };
const SPACE = { capacityBytes: 9, availableBytes: 8, usedBytes: 1, inodes: 5, inodesFree: 4 };
const VOLUME = {
  podUID: 'u',
  of: 'volume',
  name: 'data',
  source: 'x~empty-dir',
  usedBytes: 7,
  inodesUsed: 2,
  isOwnFs: false,
  space: SPACE,
} as const;

function setUp(periodMs = 60_000) {
  const clock = createFakeClock();
  const tasks: MeasureTask[] = [];
  let pods = [POD];
  let stuckAt: string | undefined;
  let measurement = (): Promise<void> => Promise.resolve();
  const usage = createDiskUsage(
    {
      clock,
      log: silentLogger,
      pods: () => pods,
      async measure({ onMeasured }, task) {
        tasks.push(task);
        await measurement();
        if (task.pods.length > 0) onMeasured(VOLUME);
        return { stuckAt };
      },
    },
    { periodMs },
  );
  return {
    clock,
    tasks,
    usage,
    setPods: (given: typeof pods) => (pods = given),
    setStuck: (path: string) => (stuckAt = path),
    setMeasurement: (given: () => Promise<void>) => (measurement = given),
  };
}

describe('createDiskUsage', () => {
  test('measures on demand, and not again within its period', async () => {
    const { usage, tasks, clock } = setUp();
    await usage.refresh();
    expect(usage.of('u')).toMatchObject([{ name: 'data', usedBytes: 7, atMs: clock.now() }]);
    await usage.refresh();
    expect(tasks).toHaveLength(1);
    await clock.advance(60_000);
    await usage.refresh();
    expect(tasks).toHaveLength(2);
  });

  test('does not block callers for long', async () => {
    const { usage, clock, setMeasurement } = setUp();
    setMeasurement(() => new Promise(() => undefined));
    const asked = usage.refresh();
    await clock.advance(1000);
    await asked;
    expect(usage.of('u')).toEqual([]);
  });

  test('forgets removed pods, and omits directories that could not be measured', async () => {
    const { usage, tasks, clock, setPods, setStuck } = setUp();
    setStuck('/v/hangs');
    await usage.refresh();
    await clock.advance(120_000);
    await usage.measure();
    expect(tasks[1]).toEqual({ pods: [POD], skipped: ['/v/hangs'], asked: [] });
    setPods([]);
    await clock.advance(120_000);
    await usage.refresh();
    expect(usage.of('u')).toEqual([]);
    expect(tasks[2]).toEqual({ pods: [], skipped: [], asked: [] });
  });

  test('measures at once on request, one round at a time', async () => {
    const { usage, tasks } = setUp();
    await usage.refresh();
    await Promise.all([usage.measure(), usage.measure()]);
    expect(tasks).toHaveLength(2);
  });

  test('uses quota accounting and drivers', async () => {
    const folder = { podUID: 'u', of: 'volume', name: 'counted', source: 'x~empty-dir' } as const;
    const apart: Apart = { ...folder, name: 'far', source: 'x~nfs', path: '/v/x~nfs/far', mount: undefined };
    const tasks: MeasureTask[] = [];
    const clock = createFakeClock();
    const usage = createDiskUsage(
      {
        clock,
        log: silentLogger,
        pods: () => [POD],
        quotas: {
          measure: () =>
            Promise.resolve([
              {
                path: '/v/x~empty-dir/counted',
                measured: { ...folder, isOwnFs: false, usedBytes: 5, space: SPACE },
              },
            ]),
        },
        apart: {
          asked: ['csi'],
          begin: () => ({
            measure: ({ podUID, of, name, source }) =>
              Promise.resolve({ podUID, of, name, source, isOwnFs: true, space: {}, usedBytes: 3 }),
          }),
        },
        measure({ onApart }, task) {
          tasks.push(task);
          onApart(apart);
          return Promise.resolve({ stuckAt: undefined });
        },
      },
      { periodMs: 60_000 },
    );
    await usage.refresh();
    expect(tasks).toEqual([{ pods: [POD], skipped: ['/v/x~empty-dir/counted'], asked: ['csi'] }]);
    expect(usage.of('u').map(({ name, usedBytes }) => [name, usedBytes])).toEqual([
      ['counted', 5],
      ['far', 3],
    ]);
  });

  test('measures nothing without a period', async () => {
    const { usage, tasks } = setUp(0);
    await usage.refresh();
    await usage.measure();
    expect(tasks).toEqual([]);
  });
});
