import { expect, test } from 'vitest';
import { createFakeClock, onClockJump } from './clock.ts';

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

test.each([YEAR_MS, -YEAR_MS, 5000])('a jump by %i ms is noticed within seconds, and once', async (byMs) => {
  const clock = createFakeClock();
  let jumps = 0;
  const end = onClockJump(clock, () => {
    jumps += 1;
  });
  await clock.advance(60_000);
  expect(jumps).toBe(0);
  clock.jumpWall(byMs);
  await clock.advance(2000);
  expect(jumps).toBe(1);
  await clock.advance(60_000);
  expect(jumps).toBe(1);
  end();
  clock.jumpWall(byMs);
  await clock.advance(60_000);
  expect(jumps).toBe(1);
});

test('corrections of a slow clock are no jumps', async () => {
  const clock = createFakeClock();
  let jumps = 0;
  const end = onClockJump(clock, () => {
    jumps += 1;
  });
  for (let seconds = 0; seconds < 60; seconds += 1) {
    clock.jumpWall(100);
    await clock.advance(1000);
  }
  expect(jumps).toBe(0);
  end();
});
