import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { ApiRequestError, ServerUnreachableError } from './errors.ts';
import { createServerContact } from './server-contact.ts';

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
  return { contact, logged, returns: () => returns };
}

describe('createServerContact', () => {
  test('tells once that the server went, and once that it is back, whoever finds out', () => {
    const { contact, logged, returns } = setUp();
    contact.failed('lease', away);
    contact.failed('status', busy);
    contact.failed('lease', away);
    contact.succeeded('status');
    contact.succeeded('lease');
    expect(logged).toEqual([
      'lease: API server could not be reached; pods run on',
      'API server answered again',
    ]);
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
      'lease: API server refused what the agent asked',
      'lease: API server refused what the agent asked',
      'status: API server refused what the agent asked',
      'lease: API server took what the agent asked',
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
