import { describe, expect, test } from 'vitest';
import {
  ageOf,
  containerCells,
  formatAge,
  formatLabelCell,
  formatSelectorCell,
  formatUntil,
} from './rows.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('formatAge', () => {
  test.each([
    [-2 * SECOND, '<invalid>'],
    [-1.5 * SECOND, '0s'],
    [-400, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * SECOND, '119s'],
    [120 * SECOND, '2m'],
    [125 * SECOND, '2m5s'],
    [10 * MINUTE - 1, '9m59s'],
    [10 * MINUTE, '10m'],
    [3 * HOUR - 1, '179m'],
    [3 * HOUR, '3h'],
    [7 * HOUR + 59 * MINUTE, '7h59m'],
    [8 * HOUR + 5 * MINUTE, '8h'],
    [47 * HOUR, '47h'],
    [48 * HOUR, '2d'],
    [7 * DAY + 23 * HOUR, '7d23h'],
    [8 * DAY + HOUR, '8d'],
    [729 * DAY, '729d'],
    [730 * DAY, '2y'],
    [8 * 365 * DAY - 1, '7y364d'],
    [8 * 365 * DAY + 30 * DAY, '8y'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(formatAge(ms)).toBe(text);
  });
});

describe('cells', () => {
  const nowMs = Date.parse('2022-05-03T12:00:00Z');

  test('derive ages from timestamps', () => {
    expect(ageOf({ metadata: { creationTimestamp: '2022-05-03T11:57:57Z' } }, nowMs)).toBe('2m3s');
    expect(ageOf({ metadata: {} }, nowMs)).toBe('<unknown>');
    expect(formatUntil('2022-05-03T13:00:00Z', nowMs)).toBe('60m');
  });

  test.each([
    [undefined, '<none>'],
    [{}, '<none>'],
    [{ tier: 'web', app: 'shop' }, 'app=shop,tier=web'],
  ])('show labels %j', (labels, text) => {
    expect(formatLabelCell(labels)).toBe(text);
  });

  test.each([
    [undefined, '<none>'],
    [{}, '<none>'],
    [
      { matchLabels: { b: '1' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y', 'x'] }] },
      'a in (x,y),b=1',
    ],
    [
      {
        matchExpressions: [
          { key: 'a', operator: 'NotIn', values: ['x'] },
          { key: 'b', operator: 'Exists' },
        ],
      },
      'a notin (x),b',
    ],
    [{ matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }, '!a'],
    [{ matchExpressions: [{ key: 'a', operator: 'In' }] }, '<error>'],
  ])('show selector %j', (selector, text) => {
    expect(formatSelectorCell(selector)).toBe(text);
  });

  test('show containers and their images', () => {
    const spec = { containers: [{ name: 'a', image: 'one:1' }, { name: 'b' }] };
    expect(containerCells(spec)).toEqual(['a,b', 'one:1,']);
    expect(containerCells(undefined)).toEqual(['', '']);
  });
});
