import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createAttempts, formatDelay, TIMEOUT_MS } from './attempts.ts';

const never = new AbortController().signal;
const fail = (): Promise<void> => Promise.reject(new Error('no server'));
const messageOf = (work: Promise<void>): Promise<string> =>
  work.then(
    () => '',
    (thrown: unknown) => String(thrown),
  );

describe('formatDelay', () => {
  test.each([
    [500, '500 ms'],
    [1000, '1 s'],
    [64_000, '64 s'],
    [120_000, '2 min'],
    [122_000, '2 min 2 s'],
  ])('writes %d', (delayMs, text) => expect(formatDelay(delayMs)).toBe(text));
});

describe('createAttempts', () => {
  test('doubles the delay after each failure up to the maximum, with the same message', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    const messages = new Set<string>();
    const delays: number[] = [];
    for (let count = 0; count < 10; count += 1) {
      messages.add(await messageOf(attempts.run('p', 'v', fail, never)));
      delays.push(attempts.backoffMs('p', ['v']));
      await clock.advance(122_000);
    }
    expect(delays).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 122_000, 122_000]);
    expect([...messages]).toEqual(['Error: no server']);
  });

  test('returns the time of the first retry of several', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    await messageOf(attempts.run('p', 'v', fail, never));
    await clock.advance(500);
    await messageOf(attempts.run('p', 'v', fail, never));
    await messageOf(attempts.run('p', 'w', fail, never));
    expect(attempts.backoffMs('p', ['v'])).toBe(1000);
    expect(attempts.backoffMs('p', ['v', 'w'])).toBe(500);
    expect(attempts.backoffMs('p', ['x'])).toBe(0);
    expect(attempts.backoffMs('q', ['v'])).toBe(0);
    await clock.advance(2000);
    expect(attempts.backoffMs('p', ['v', 'w'])).toBe(0);
  });

  test('delays one volume without an attempt, and not others', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    let tries = 0;
    const count = (): Promise<void> => {
      tries += 1;
      return fail();
    };
    const first = await messageOf(attempts.run('p', 'v', count, never));
    expect(await messageOf(attempts.run('p', 'v', count, never))).toBe(first);
    expect(tries).toBe(1);
    await attempts.run('p', 'w', async () => undefined, never);
    await attempts.run('q', 'v', async () => undefined, never);
    await clock.advance(500);
    await attempts.run('p', 'v', async () => undefined, never);
    await messageOf(attempts.run('p', 'v', fail, never));
    expect(attempts.backoffMs('p', ['v'])).toBe(500);
  });

  test('retries at once after a reset', async () => {
    const attempts = createAttempts({ clock: createFakeClock() });
    await messageOf(attempts.run('p', 'v', fail, never));
    attempts.retry('p');
    expect(await messageOf(attempts.run('p', 'v', async () => undefined, never))).toBe('');
  });

  test('continues a hanging attempt, which later callers join', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    const { promise, resolve } = Promise.withResolvers<void>();
    let tries = 0;
    const hang = (): Promise<void> => {
      tries += 1;
      return promise;
    };
    const first = messageOf(attempts.run('p', 'v', hang, never));
    await clock.advance(TIMEOUT_MS);
    expect(await first).toContain('is not ready after 2 min 3 s');
    const second = attempts.run('p', 'v', hang, never);
    resolve();
    await second;
    expect(tries).toBe(1);
  });

  test('aborts attempts in flight of a removed pod, and returns them', async () => {
    const attempts = createAttempts({ clock: createFakeClock() });
    const work = attempts.run(
      'p',
      'v',
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('given up')), { once: true });
        }),
      never,
    );
    const ended = messageOf(work);
    expect(attempts.stop('p')).toEqual(['v']);
    expect(await ended).toBe('Error: given up');
    expect(attempts.stop('p')).toEqual([]);
    await attempts.run('p', 'v', async () => undefined, never);
  });
});
