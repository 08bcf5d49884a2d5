import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createMemoryTidier, createTidy } from './memory-tidier.ts';

function start() {
  const clock = createFakeClock();
  const stop = new AbortController();
  let tidied = 0;
  const tidier = createMemoryTidier({ clock, log: silentLogger, tidy: () => void (tidied += 1) });
  const running = tidier.run(stop.signal);
  return {
    clock,
    tidier,
    count: () => tidied,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

test('collects once after the work has paused', async () => {
  await using setup = start();
  setup.tidier.note();
  for (let second = 0; second < 20; second += 1) {
    await setup.clock.advance(1_000);
    setup.tidier.note();
  }
  expect(setup.count()).toBe(0);
  await setup.clock.advance(5_000);
  expect(setup.count()).toBe(1);
  await setup.clock.advance(3_600_000);
  expect(setup.count()).toBe(1);
});

test('collects again after the next burst of work', async () => {
  await using setup = start();
  setup.tidier.note();
  await setup.clock.advance(10_000);
  setup.tidier.note();
  await setup.clock.advance(10_000);
  expect(setup.count()).toBe(2);
});

test('collects once a minute while the work never pauses', async () => {
  await using setup = start();
  for (let second = 0; second < 181; second += 1) {
    setup.tidier.note();
    await setup.clock.advance(1_000);
  }
  expect(setup.count()).toBe(3);
});

test('collects garbage in a process that was not started for it', () => {
  const tidy = createTidy();
  const dropped = new WeakRef({ some: 'object' });
  return new Promise<void>((resolve) => {
    // A weak reference keeps its target alive until the end of the turn in which it was read.
    setImmediate(() => {
      tidy();
      expect(dropped.deref()).toBeUndefined();
      resolve();
    });
  });
});
