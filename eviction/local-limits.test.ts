import { describe, expect, onTestFinished, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createLocalLimits } from './local-limits.ts';
import { NO_USE } from './local-storage.ts';

const limited: Pod = {
  metadata: { name: 'p', uid: 'u' },
  spec: { containers: [], volumes: [{ name: 'v', emptyDir: { sizeLimit: '100' } }] },
};
const unlimited: Pod = { metadata: { name: 'q', uid: 'q' }, spec: { containers: [] } };

function setUp(pods: Pod[]) {
  const clock = createFakeClock();
  const disk = { usedBytes: 5000, volume: 0 };
  const evicted: string[] = [];
  let seen = 0;
  let measured = 0;
  const limits = createLocalLimits(
    {
      clock,
      log: silentLogger,
      pods: () => pods,
      useOf: () => ({ ...NO_USE, volumes: new Map([['v', seen]]) }),
      measure() {
        measured += 1;
        seen = disk.volume;
        return Promise.resolve();
      },
      usedBytes: () => Promise.resolve(disk.usedBytes),
      evict(pod, message) {
        evicted.push(`${pod.metadata?.name}: ${message}`);
        pods.length = 0;
        return Promise.resolve();
      },
      random: () => 0,
    },
    { periodMs: 60_000 },
  );
  const stop = new AbortController();
  void limits.run(stop.signal);
  onTestFinished(() => stop.abort());
  return { clock, disk, evicted, limits, measured: () => measured };
}

describe('createLocalLimits', () => {
  test('measures nothing while no pod has a limit, and at once when one has', async () => {
    const pods = [unlimited];
    const { clock, limits, measured } = setUp(pods);
    limits.wake();
    await clock.advance(600_000);
    expect(measured()).toBe(0);
    pods.push(limited);
    limits.wake();
    await clock.advance(0);
    expect(measured()).toBe(1);
  });

  test('measures once a period while the disk does not fill', async () => {
    const { clock, limits, measured } = setUp([limited]);
    limits.wake();
    await clock.advance(0);
    await clock.advance(59_000);
    expect(measured()).toBe(1);
    await clock.advance(1_000);
    expect(measured()).toBe(2);
  });

  test('measures earlier when the disk has filled by the headroom of a volume, and evicts its pod', async () => {
    const { clock, disk, evicted, limits, measured } = setUp([limited]);
    limits.wake();
    await clock.advance(0);
    disk.usedBytes += 99;
    disk.volume = 99;
    await clock.advance(10_000);
    expect(measured()).toBe(1);
    disk.usedBytes += 10;
    disk.volume = 109;
    await clock.advance(10_000);
    expect(measured()).toBe(2);
    expect(evicted).toEqual(['p: Usage of EmptyDir volume "v" exceeds the limit "100". ']);
  });

  test('queries again soon when a layer may have grown, as runtimes report it late', async () => {
    const withLimit: Pod = {
      metadata: { name: 'p', uid: 'u' },
      spec: { containers: [{ name: 'c', resources: { limits: { 'ephemeral-storage': '100' } } }] },
    };
    const { clock, disk, limits, measured } = setUp([withLimit]);
    limits.wake();
    await clock.advance(0);
    disk.usedBytes += 500;
    await clock.advance(10_000);
    expect(measured()).toBe(2);
    await clock.advance(10_000);
    expect(measured()).toBe(2);
    await clock.advance(10_000);
    expect(measured()).toBe(3);
  });

  test('evicts no pods within their limits, whatever else fills the disk', async () => {
    const { clock, disk, evicted, limits } = setUp([limited]);
    limits.wake();
    disk.usedBytes += 1e9;
    disk.volume = 100;
    await clock.advance(120_000);
    expect(evicted).toEqual([]);
  });
});
