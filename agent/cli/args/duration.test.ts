import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { formatAge, formatSince, parseSeconds } from './duration.ts';

const S = 1;
const M = 60;
const H = 3600;
const D = 86_400;
const Y = 365 * D;

describe('formatAge', () => {
  test.each([
    [0, '0s'],
    [-5, '0s'],
    [119 * S, '119s'],
    [2 * M, '2m'],
    [3 * M + 12, '3m12s'],
    [9 * M + 59, '9m59s'],
    [10 * M + 59, '10m'],
    [2 * H + 59 * M, '179m'],
    [3 * H, '3h'],
    [7 * H + 5 * M, '7h5m'],
    [8 * H + 5 * M, '8h'],
    [47 * H, '47h'],
    [2 * D, '2d'],
    [5 * D + 3 * H, '5d3h'],
    [8 * D + 3 * H, '8d'],
    [700 * D, '700d'],
    [2 * Y + 3 * D, '2y3d'],
    [9 * Y + 3 * D, '9y'],
  ])('formats %d seconds as %s', (seconds, text) => {
    expect(formatAge(seconds * 1000)).toBe(text);
  });

  test('is never longer than two short units', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 50 * Y }), (seconds) => {
        expect(formatAge(seconds * 1000)).toMatch(/^\d{1,3}[smhdy](?:\d{1,3}[smhd])?$/);
      }),
    );
  });
});

describe('formatSince', () => {
  const now = Date.parse('2026-03-01T00:10:00Z');
  test.each([
    ['2026-03-01T00:09:30Z', '30s'],
    ['2026-03-01T00:11:00Z', '0s'],
    [undefined, '<unknown>'],
    ['yesterday', '<unknown>'],
  ])('formats the age of %s as %s', (time, text) => {
    expect(formatSince(time, now)).toBe(text);
  });
});

describe('parseSeconds', () => {
  test.each([
    ['90', 90],
    ['90s', 90],
    ['1h30m', 5400],
    ['1ms', 1],
    ['0', 0],
  ])('reads %s as %d', (text, seconds) => {
    expect(parseSeconds('--since', text)).toBe(seconds);
  });

  test.each(['', '-5m', '5 minutes', '5d', '99999999999999999999'])('refuses %j', (text) => {
    expect(() => parseSeconds('--since', text)).toThrow(UsageError);
  });
});
