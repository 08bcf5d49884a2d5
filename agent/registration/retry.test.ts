import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { ServerUnreachableError } from '../api-client/errors.ts';
import { createServerContact } from '../api-client/server-contact.ts';
import { untilDone } from './retry.ts';

const away = new ServerUnreachableError('no response');

function setUp() {
  const clock = createFakeClock();
  return { clock, contact: createServerContact({ clock, log: silentLogger }) };
}

describe('untilDone', () => {
  test('retries with growing delays until it succeeds', async () => {
    const { clock, contact } = setUp();
    const startMs = clock.monotonic();
    const triedAtMs: number[] = [];
    const attempt = (): Promise<string> => {
      triedAtMs.push(clock.monotonic() - startMs);
      return triedAtMs.length < 5 ? Promise.reject(away) : Promise.resolve('done');
    };
    const policy = { initialMs: 100, maxMs: 300 };
    const done = untilDone(
      { clock, contact },
      { subject: 'x', policy },
      attempt,
      new AbortController().signal,
    );
    await clock.advance(0);
    await clock.advance(2000);
    expect(await done).toBe('done');
    expect(triedAtMs).toEqual([0, 100, 300, 600, 900]);
  });

  test('ends with the signal', async () => {
    const { clock, contact } = setUp();
    const stop = new AbortController();
    const policy = { initialMs: 100, maxMs: 300 };
    const done = untilDone(
      { clock, contact },
      { subject: 'x', policy },
      () => Promise.reject(away),
      stop.signal,
    );
    stop.abort(new Error('stopped'));
    await expect(done).rejects.toThrow('stopped');
  });
});
