import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createFairGate } from './fair-gate.ts';

function setUp(options = {}) {
  const clock = createFakeClock();
  const gate = createFairGate(
    { clock },
    { slots: 2, maxPerFlow: 100, maxWaiting: 150, maxWaitMs: 1000, ...options },
  );
  const started: string[] = [];
  const ends: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const run = (flow: string, fail = false): Promise<string> =>
    gate.run(flow, async () => {
      started.push(flow);
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => ends.push(resolve));
      running -= 1;
      if (fail) throw new Error('failed');
      return flow;
    });
  const end = async (): Promise<void> => {
    ends.shift()?.();
    await clock.advance(0);
  };
  return { clock, run, end, started, most: () => most };
}

describe('createFairGate', () => {
  test('runs no more than its slots at once, however many tasks come', async () => {
    const { run, end, most } = setUp();
    const all = Array.from({ length: 50 }, (_, index) => run(`client ${index}`));
    for (let index = 0; index < 50; index += 1) await end();
    expect((await Promise.all(all)).length).toBe(50);
    expect(most()).toBe(2);
  });

  test('lets a client wait for one task of a client that floods it', async () => {
    const { run, end, started } = setUp();
    const flood = Array.from({ length: 90 }, () => run('flood'));
    const other = run('other');
    await end();
    await end();
    expect(started.slice(0, 4)).toEqual(['flood', 'flood', 'flood', 'other']);
    for (let index = 0; index < 90; index += 1) await end();
    await Promise.all([...flood, other]);
  });

  test('releases the slot of a task that fails', async () => {
    const { run, end } = setUp({ slots: 1 });
    const first = run('a', true).catch((thrown: unknown) => String(thrown));
    const second = run('b');
    await end();
    expect(await first).toBe('Error: failed');
    await end();
    expect(await second).toBe('b');
  });

  test.each([
    ['too many tasks of one client', (index: number) => `same ${index % 1}`, 102],
    ['too many tasks of all', (index: number) => `client ${index % 3}`, 152],
  ])('rejects %s at once, and a task that waits too long', async (_, flowOf, fitting) => {
    const { run, clock } = setUp();
    const all = Array.from({ length: 200 }, (_each, index) => run(flowOf(index)));
    const ended = Promise.allSettled(all.slice(2));
    let settled = 0;
    for (const each of all) each.then(() => (settled += 1)).catch(() => (settled += 1));
    await clock.advance(0);
    expect(settled).toBe(200 - fitting);
    await clock.advance(1000);
    const results = await ended;
    expect(results.every(({ status }) => status === 'rejected')).toBe(true);
  });
});
