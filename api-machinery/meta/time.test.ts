import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  formatMicroTime,
  formatTime,
  formatTimeNanos,
  parseTime,
  parseTimeNanos,
  TimeError,
} from './time.ts';

describe('parseTimeNanos', () => {
  test.each([
    ['1970-01-01T00:00:00Z', 0n],
    ['2020-02-29T12:00:00Z', 1_582_977_600_000_000_000n],
    ['2020-02-29T14:00:00+02:00', 1_582_977_600_000_000_000n],
    ['2020-02-29T06:30:00-05:30', 1_582_977_600_000_000_000n],
    ['1970-01-01T00:00:00.000000001Z', 1n],
    ['1970-01-01T00:00:00.5Z', 500_000_000n],
    ['1970-01-01T00:00:00.0000000019Z', 1n],
    ['1969-12-31T23:59:59.5Z', -500_000_000n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
  ])('reads %s', (text, nanos) => {
    expect(parseTimeNanos(text)).toBe(nanos);
  });

  test.each([
    '',
    '2020-01-01',
    '2020-01-01T00:00:00',
    '2020-01-01 00:00:00Z',
    '2021-02-29T00:00:00Z',
    '2020-13-01T00:00:00Z',
    '2020-00-01T00:00:00Z',
    '2020-01-01T24:00:00Z',
    '2020-01-01T00:60:00Z',
    '2020-01-01T00:00:60Z',
    '2020-01-01T00:00:00.Z',
    '2020-01-01T00:00:00+25:00',
    'now',
  ])('rejects %j', (text) => {
    expect(() => parseTimeNanos(text)).toThrow(TimeError);
  });
});

describe('formats', () => {
  it('writes seconds, microseconds and nanoseconds', () => {
    expect(formatTime(1_582_977_600_999)).toBe('2020-02-29T12:00:00Z');
    expect(formatMicroTime(1_582_977_600_000_001_999n)).toBe('2020-02-29T12:00:00.000001Z');
    expect(formatTimeNanos(1_582_977_600_000_001_990n)).toBe('2020-02-29T12:00:00.00000199Z');
    expect(formatTimeNanos(1_582_977_600_000_000_000n)).toBe('2020-02-29T12:00:00Z');
  });

  it('rejects years that RFC 3339 cannot express', () => {
    expect(() => formatTime(8.64e15)).toThrow(RangeError);
  });

  const times = fc.bigInt({ min: -62_135_596_800n * 10n ** 9n, max: 253_402_300_799n * 10n ** 9n });

  it('agrees with the calendar', () => {
    const day = fc.integer({ min: -719_000, max: 2_932_896 });
    const daysOf = (...dates: readonly string[]) => dates.map((date) => Date.parse(date) / 86_400_000);
    const edges = daysOf('1970-01-01', '2000-02-29', '2000-03-01', '2100-02-28', '2100-03-01', '9999-12-31');
    fc.assert(
      fc.property(fc.oneof(day, fc.constantFrom(...edges)), fc.nat(86_399), (days, seconds) => {
        const ms = (days * 86_400 + seconds) * 1000;
        expect(formatTime(ms)).toBe(`${new Date(ms).toISOString().slice(0, 19)}Z`);
      }),
    );
  });

  it('round-trips nanoseconds', () => {
    fc.assert(
      fc.property(times, (nanos) => {
        expect(parseTimeNanos(formatTimeNanos(nanos))).toBe(nanos);
      }),
    );
  });

  it('truncates towards the past in each precision', () => {
    fc.assert(
      fc.property(times, (nanos) => {
        const micros = nanos - parseTimeNanos(formatMicroTime(nanos));
        expect(micros >= 0n && micros < 1000n).toBe(true);
        const ms = parseTime(formatTimeNanos(nanos));
        expect(BigInt(ms) * 1_000_000n <= nanos).toBe(true);
        expect(parseTime(formatTime(ms)) <= ms).toBe(true);
      }),
    );
  });
});
