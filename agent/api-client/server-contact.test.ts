import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { ApiRequestError, ServerUnreachableError } from './errors.ts';
import { createServerContact } from './server-contact.ts';

const away = new ServerUnreachableError('no response');
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
  test('reports an outage once and the recovery once, whichever client detects it', () => {
    const { contact, logged, returns } = setUp();
    contact.failed('lease', away);
    contact.failed('status', busy);
    contact.failed('lease', away);
    contact.succeeded('status');
    contact.succeeded('lease');
    expect(logged).toEqual([
      'lease: API server unavailable; pods keep running',
      'API server available again',
    ]);
    expect(returns()).toBe(1);
  });

  test('reports a rejection once for each subject and message, and its end', () => {
    const { contact, logged, returns } = setUp();
    contact.failed('lease', denied('a'));
    contact.failed('lease', denied('a'));
    contact.failed('lease', denied('b'));
    contact.failed('status', denied('a'));
    contact.succeeded('lease');
    expect(logged).toEqual([
      'lease: API server rejected request',
      'lease: API server rejected request',
      'status: API server rejected request',
      'lease: API server accepted request again',
    ]);
    expect(returns()).toBe(0);
  });

  test('counts a rejection as a response', () => {
    const { contact, logged } = setUp();
    contact.failed('lease', away);
    contact.failed('status', denied('a'));
    expect(logged).toContain('API server available again');
  });
});
