import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createAttempts, formatDelay, PATIENCE_MS } from './attempts.ts';

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
  test('doubles the delay after each failure up to its end, and says when the next try is', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    const told: string[] = [];
    for (let count = 0; count < 10; count += 1) {
      told.push(await messageOf(attempts.run('p', 'v', fail, never)));
      await clock.advance(122_000);
    }
    expect(told.map((text) => /next try in (.*)\)/.exec(text)?.[1])).toEqual([
      '500 ms',
      '1 s',
      '2 s',
      '4 s',
      '8 s',
      '16 s',
      '32 s',
      '64 s',
      '2 min 2 s',
      '2 min 2 s',
    ]);
  });

  test('holds a volume back without trying, other volumes not', async () => {
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
    expect(await messageOf(attempts.run('p', 'v', fail, never))).toContain('500 ms');
  });

  test('tries at once what may have changed', async () => {
    const attempts = createAttempts({ clock: createFakeClock() });
    await messageOf(attempts.run('p', 'v', fail, never));
    attempts.retry('p');
    expect(await messageOf(attempts.run('p', 'v', async () => undefined, never))).toBe('');
  });

  test('lets one that hangs go on, and whoever asks again waits for the same', async () => {
    const clock = createFakeClock();
    const attempts = createAttempts({ clock });
    const { promise, resolve } = Promise.withResolvers<void>();
    let tries = 0;
    const hang = (): Promise<void> => {
      tries += 1;
      return promise;
    };
    const first = messageOf(attempts.run('p', 'v', hang, never));
    await clock.advance(PATIENCE_MS);
    expect(await first).toContain('is not ready after 2 min 3 s');
    const second = attempts.run('p', 'v', hang, never);
    resolve();
    await second;
    expect(tries).toBe(1);
  });

  test('aborts what is under way for a pod that goes, and names it', async () => {
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
