import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { runShutdownManager } from './manager.ts';

const PERIODS = [
  { priority: 0, seconds: 20 },
  { priority: 100, seconds: 10 },
];
const pod = (name: string, priority: number): Pod => ({
  metadata: { name },
  spec: { containers: [], priority },
});

interface World {
  readonly said: string[];
  readonly clock: ReturnType<typeof createFakeClock>;
  shutdown(begins: boolean): Promise<void>;
  /** The pod has terminated. */
  ended(name: string): Promise<void>;
  loseLock(): Promise<void>;
  stop(): Promise<void>;
}

async function start(
  delayMs: number,
  allowed: (seconds: number) => number = (seconds) => seconds * 1000,
): Promise<World> {
  const said: string[] = [];
  const clock = createFakeClock();
  const stop = new AbortController();
  const ends = new Map<string, () => void>();
  let longestMs = delayMs;
  let listener: (begins: boolean) => void = () => undefined;
  let loseLock: () => void = () => undefined;
  const running = runShutdownManager(
    {
      clock,
      log: silentLogger,
      connect: async () => ({
        logind: {
          longestDelayMs: async () => longestMs,
          async allowDelay(seconds) {
            said.push(`allow ${seconds}`);
            longestMs = allowed(seconds);
          },
          async onShutdown(given) {
            listener = given;
          },
        },
        closed: new Promise(() => undefined),
        close: () => undefined,
      }),
      async inhibit() {
        const gone = Promise.withResolvers<void>();
        loseLock = gone.resolve;
        said.push('lock');
        return {
          gone: gone.promise,
          async release() {
            said.push('release');
            gone.resolve();
          },
        };
      },
      pods: () => [pod('web', 5), pod('db', 500)],
      priorityOf: ({ spec }) => spec?.priority ?? 0,
      end: ({ metadata }, graceSeconds, signal) => {
        said.push(`end ${metadata?.name} ${graceSeconds}`);
        return new Promise((resolve, reject) => {
          ends.set(metadata?.name ?? '', resolve);
          signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        });
      },
      notify: (begins) => void said.push(begins ? 'down' : 'up'),
      ended: async () => void said.push('ended'),
    },
    PERIODS,
    stop.signal,
  );
  await clock.advance(0);
  return {
    said,
    clock,
    async shutdown(begins) {
      listener(begins);
      await clock.advance(0);
    },
    async ended(name) {
      ends.get(name)?.();
      await clock.advance(0);
    },
    async loseLock() {
      loseLock();
      await clock.advance(0);
    },
    async stop() {
      stop.abort(new Error('stop'));
      await running;
    },
  };
}

describe('runShutdownManager', () => {
  test('terminates pods group by group, then releases the lock', async () => {
    const world = await start(60_000);
    expect(world.said).toEqual(['lock']);
    await world.shutdown(true);
    expect(world.said).toEqual(['lock', 'down', 'end web 20']);
    await world.ended('web');
    expect(world.said.slice(3)).toEqual(['end db 10']);
    await world.ended('db');
    expect(world.said.slice(4)).toEqual(['ended', 'release']);
    await world.stop();
  });

  test('continues when the grace period of a group is over', async () => {
    const world = await start(60_000);
    await world.shutdown(true);
    await world.clock.advance(20_000);
    expect(world.said.at(-1)).toBe('end db 10');
    await world.clock.advance(10_000);
    expect(world.said.at(-1)).toBe('release');
    await world.stop();
  });

  test('raises a shutdown delay that is too short', async () => {
    const world = await start(5000);
    expect(world.said).toEqual(['allow 30', 'lock']);
    await world.stop();
    const without = await start(5000, () => 5000);
    expect(without.said).toEqual(['allow 30', 'lock']);
    await without.stop();
  });

  test('acquires the lock again when the shutdown is cancelled, and terminates no further pods', async () => {
    const world = await start(60_000);
    await world.shutdown(true);
    await world.shutdown(false);
    await world.clock.advance(1000);
    expect(world.said).toEqual(['lock', 'down', 'end web 20', 'up', 'release', 'ended', 'release', 'lock']);
    await world.stop();
  });

  test('acquires another lock after losing one', async () => {
    const world = await start(60_000);
    await world.loseLock();
    await world.clock.advance(1000);
    expect(world.said.filter((word) => word === 'lock')).toHaveLength(2);
    await world.stop();
    expect(world.said.at(-1)).toBe('release');
  });
});
