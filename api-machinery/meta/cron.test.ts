import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { CronError, isTimeZone, nextCronTime, parseCron } from './cron.ts';

const at = (text: string): number => Date.parse(text);
const next = (schedule: string, after: string, zone?: string): string | undefined => {
  const ms = nextCronTime(parseCron(schedule), at(after), zone);
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

/** Returns the error for an invalid text. */
function refusal(text: string): unknown {
  try {
    parseCron(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.constructor : error;
  }
}

describe('parseCron', () => {
  test.each([
    '* * * * *',
    '*/5 0,12 1-15/2 jan-mar MON-FRI',
    '? ? ? ? ?',
    '59 23 31 12 6',
    '5/10 * * * *',
    '  0   3 * * 1  ',
    '@yearly',
    '@annually',
    '@monthly',
    '@weekly',
    '@daily',
    '@midnight',
    '@hourly',
    '@every 1h30m',
    'TZ=Europe/Paris 0 3 * * *',
    'CRON_TZ=UTC @daily',
  ])('takes %j', (text) => expect(parseCron(text).kind).toMatch(/fields|interval/));

  test.each([
    '',
    '* * * *',
    '* * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * 32 * *',
    '* * * 13 *',
    '* * * 0 *',
    '* * * * 7',
    '* * * * sund',
    '5-1 * * * *',
    '*/0 * * * *',
    '*/-1 * * * *',
    '1-2-3 * * * *',
    '1/2/3 * * * *',
    '1,,2 * * * *',
    ', * * * *',
    '-1 * * * *',
    '1.5 * * * *',
    'jan * * * *',
    '@never',
    '@every x',
    '@every',
    'TZ=Nowhere/Land * * * * *',
    'TZ= * * * * *',
    'TZ=UTC',
    `${'1,'.repeat(600)}1 * * * *`,
  ])('rejects %j', (text) => expect(() => parseCron(text)).toThrow(CronError));

  it('throws nothing else, whatever the text', () => {
    const character = fc.constantFrom(
      '0',
      '1',
      '5',
      '9',
      '*',
      '/',
      ',',
      '-',
      '?',
      ' ',
      '@',
      'TZ=',
      'jan',
      'mon',
    );
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 30 }), (text) => {
        expect([undefined, CronError]).toContain(refusal(text));
      }),
    );
  });
});

describe('nextCronTime', () => {
  test.each([
    ['* * * * *', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00.000Z'],
    ['* * * * *', '2026-01-01T00:00:59.999Z', '2026-01-01T00:01:00.000Z'],
    ['*/15 * * * *', '2026-01-01T00:46:00Z', '2026-01-01T01:00:00.000Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['30 4 1 * *', '2026-12-31T00:00:00Z', '2027-01-01T04:30:00.000Z'],
    ['0 9 * * mon-fri', '2026-11-20T10:00:00Z', '2026-11-23T09:00:00.000Z'],
    // Either day matches if both are restricted.
    ['0 0 13 * 5', '2026-11-01T00:00:00Z', '2026-11-06T00:00:00.000Z'],
    ['0 0 13 * 1', '2026-11-10T00:00:00Z', '2026-11-13T00:00:00.000Z'],
    // Both must match if one is unrestricted.
    ['0 0 */1 * 5', '2026-11-01T00:00:00Z', '2026-11-06T00:00:00.000Z'],
    ['@yearly', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['@weekly', '2026-11-21T00:00:00Z', '2026-11-22T00:00:00.000Z'],
    ['@every 90m', '2026-01-01T00:00:00.500Z', '2026-01-01T01:30:00.000Z'],
    ['@every 1ms', '2026-01-01T00:00:00Z', '2026-01-01T00:00:01.000Z'],
  ])('%s after %s', (schedule, after, expected) => expect(next(schedule, after)).toBe(expected));

  it('is never for a day that does not exist', () => {
    expect(next('0 0 30 2 *', '2026-01-01T00:00:00Z')).toBeUndefined();
  });

  test.each([
    ['0 3 * * *', '2026-06-01T00:00:00Z', 'Europe/Paris', '2026-06-01T01:00:00.000Z'],
    ['0 3 * * *', '2026-12-01T03:00:00Z', 'Europe/Paris', '2026-12-02T02:00:00.000Z'],
    ['TZ=Asia/Kolkata 30 0 * * *', '2026-01-01T00:00:00Z', 'Europe/Paris', '2026-01-01T19:00:00.000Z'],
    // The clocks skip the hour: not due on that day.
    ['30 2 * * *', '2026-03-28T02:00:00Z', 'Europe/Paris', '2026-03-30T00:30:00.000Z'],
    // The hour occurs twice.
    ['*/30 * * * *', '2026-10-25T00:30:00Z', 'Europe/Paris', '2026-10-25T01:00:00.000Z'],
    // After a short day, the next day is due from its first minute on.
    ['10 0 30 3 *', '2026-03-29T00:00:00Z', 'Europe/Paris', '2026-03-29T22:10:00.000Z'],
    ['10 0 26 10 *', '2026-10-24T23:00:00Z', 'Europe/Paris', '2026-10-25T23:10:00.000Z'],
    // Midnight itself is skipped.
    ['0 1 6 9 *', '2026-09-05T12:00:00Z', 'America/Santiago', '2026-09-06T04:00:00.000Z'],
  ])('%s after %s in %s', (schedule, after, zone, expected) => {
    expect(next(schedule, after, zone)).toBe(expected);
  });

  it('is the first minute that matches, as a search minute by minute finds it', () => {
    const field = (first: number, last: number): fc.Arbitrary<string> =>
      fc.oneof(
        fc.constant('*'),
        fc.integer({ min: first, max: last }).map(String),
        fc.integer({ min: 2, max: 9 }).map((step) => `*/${step}`),
      );
    const schedules = fc.tuple(field(0, 59), field(0, 23), fc.constant('*'), fc.constant('*'), field(0, 6));
    fc.assert(
      fc.property(schedules, fc.integer({ min: 0, max: 2e9 }), (parts, seconds) => {
        const schedule = parseCron(parts.join(' '));
        if (schedule.kind !== 'fields') return;
        const found = nextCronTime(schedule, seconds * 1000) ?? 0;
        let ms = (Math.floor(seconds / 60) + 1) * 60_000;
        const matches = (date: Date): boolean =>
          schedule.minutes.values.has(date.getUTCMinutes()) &&
          schedule.hours.values.has(date.getUTCHours()) &&
          schedule.daysOfWeek.values.has(date.getUTCDay());
        while (!matches(new Date(ms))) ms += 60_000;
        expect(found).toBe(ms);
      }),
      { numRuns: 60 },
    );
  });

  it('is after the given time, in any zone', () => {
    const zones = ['Europe/Paris', 'America/St_Johns', 'Pacific/Apia', 'Australia/Lord_Howe'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: 0, max: 23 }),
        fc.integer({ min: 1.2e9, max: 1.9e9 }),
        (zone, minute, hour, seconds) => {
          const ms = nextCronTime(parseCron(`${minute} ${hour} * * *`), seconds * 1000, zone) ?? 0;
          expect(ms).toBeGreaterThan(seconds * 1000);
          expect(ms - seconds * 1000).toBeLessThanOrEqual(3 * 86_400_000);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('isTimeZone', () => {
  test.each([
    ['UTC', true],
    ['Europe/Paris', true],
    ['', false],
    ['local', false],
    ['+01:00', false],
    ['Mars/Base', false],
  ])('%s: %s', (name, expected) => expect(isTimeZone(name)).toBe(expected));
});
