import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createBacklogGuard } from '../response/stream.ts';

function setUp() {
  const clock = createFakeClock();
  const state = { waiting: 0, cuts: 0 };
  const guard = createBacklogGuard(
    { clock, backlogBytes: () => state.waiting, cut: () => (state.cuts += 1) },
    { maxBytes: 1000, stalledMs: 100 },
  );
  const write = (bytes: number): void => {
    state.waiting += bytes;
    guard.wrote(bytes);
  };
  return { clock, state, guard, write };
}

describe('createBacklogGuard', () => {
  test('cuts at once beyond the limit', () => {
    const { state, write } = setUp();
    write(1000);
    expect(state.cuts).toBe(0);
    write(1);
    expect(state.cuts).toBe(1);
  });

  test('disconnects a client that reads nothing', async () => {
    const { clock, state, write } = setUp();
    write(10);
    await clock.advance(50);
    write(10);
    await clock.advance(49);
    expect(state.cuts).toBe(0);
    await clock.advance(1);
    expect(state.cuts).toBe(1);
  });

  test('leaves a client alone that takes something', async () => {
    const { clock, state, write } = setUp();
    write(10);
    for (let round = 0; round < 5; round += 1) {
      write(10);
      state.waiting -= 1;
      await clock.advance(100);
    }
    expect(state.cuts).toBe(0);
  });

  test('leaves a client alone that has taken everything, until it stalls anew', async () => {
    const { clock, state, write } = setUp();
    write(10);
    state.waiting = 0;
    await clock.advance(1000);
    expect(state.cuts).toBe(0);
    write(10);
    await clock.advance(100);
    expect(state.cuts).toBe(1);
  });

  test('looks no more once stopped', async () => {
    const { clock, state, guard, write } = setUp();
    write(10);
    guard.stop();
    await clock.advance(1000);
    expect(state.cuts).toBe(0);
  });
});
