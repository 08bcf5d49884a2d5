import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import { createServerContact } from './contact.ts';
import { untilDone } from './retry.ts';

const away = new ServerUnreachableError('no answer');
const busy = new ApiRequestError({ status: 503, reason: 'ServiceUnavailable', message: 'not now' });
const denied = (message: string) => new ApiRequestError({ status: 403, reason: 'Forbidden', message });

function setUp() {
  const clock = createFakeClock();
  const logged: string[] = [];
  const note = (fields: object, message: string): void => {
    logged.push('subject' in fields ? `${String(fields.subject)}: ${message}` : message);
  };
  const log: Logger = { ...silentLogger, error: note, warn: note, info: note };
  const contact = createServerContact({ clock, log });
  let returns = 0;
  contact.onReturn(() => (returns += 1));
  return { clock, contact, logged, returns: () => returns };
}

describe('createServerContact', () => {
  test('tells once that the server went, and once that it is back, whoever finds out', () => {
    const { contact, logged, returns } = setUp();
    contact.failed('lease', away);
    contact.failed('status', busy);
    contact.failed('lease', away);
    contact.succeeded('status');
    contact.succeeded('lease');
    expect(logged).toEqual(['lease: API server could not be reached', 'API server answered again']);
    expect(returns()).toBe(1);
  });

  test('tells a refusal once for each subject and message, and that it is over', () => {
    const { contact, logged, returns } = setUp();
    contact.failed('lease', denied('a'));
    contact.failed('lease', denied('a'));
    contact.failed('lease', denied('b'));
    contact.failed('status', denied('a'));
    contact.succeeded('lease');
    expect(logged).toEqual([
      'lease: API server refused what the node asked',
      'lease: API server refused what the node asked',
      'status: API server refused what the node asked',
      'lease: API server took what the node asked',
    ]);
    expect(returns()).toBe(0);
  });

  test('takes a refusal for an answer', () => {
    const { contact, logged } = setUp();
    contact.failed('lease', away);
    contact.failed('status', denied('a'));
    expect(logged).toContain('API server answered again');
  });
});

describe('untilDone', () => {
  test('tries again after growing times until it succeeds', async () => {
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
