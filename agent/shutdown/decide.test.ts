import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import {
  type ShutdownPeriod,
  type ShutdownSettings,
  shutdownGroups,
  shutdownPeriods,
  wholePeriod,
} from './decide.ts';

const SETTINGS: ShutdownSettings = { graceMs: 30_000, criticalGraceMs: 10_000, byPriority: [] };
const CRITICAL = 2_000_000_000;
const BY_PRIORITY: readonly ShutdownPeriod[] = [
  { priority: 100_000, seconds: 10 },
  { priority: 0, seconds: 60 },
  { priority: 10_000, seconds: 180 },
];

describe('shutdownPeriods', () => {
  test.each<[string, Partial<ShutdownSettings>, string]>([
    ['all and the critical ones', {}, `0:20 ${CRITICAL}:10`],
    ['no time of their own for the critical ones', { criticalGraceMs: 0 }, `0:30 ${CRITICAL}:0`],
    ['nothing without a period', { graceMs: 0, criticalGraceMs: 0 }, ''],
    ['nothing of periods that do not fit', { graceMs: 5000 }, ''],
    ['priorities before the two others', { byPriority: BY_PRIORITY }, '0:60 10000:180 100000:10'],
  ])('reports %s', (_, settings, expected) => {
    const periods = shutdownPeriods({ ...SETTINGS, ...settings });
    expect(periods.map(({ priority, seconds }) => `${priority}:${seconds}`).join(' ')).toBe(expected);
  });

  test('the total delay is the sum of all periods', () => {
    expect(wholePeriod(BY_PRIORITY)).toBe(250);
  });
});

describe('shutdownGroups', () => {
  const pod = (name: string, priority?: number, grace?: number): Pod => ({
    metadata: { name },
    spec: {
      containers: [],
      ...(priority === undefined ? {} : { priority }),
      ...(grace === undefined ? {} : { terminationGracePeriodSeconds: grace }),
    },
  });
  /** `a20` is pod a with 20 seconds; groups are separated by a slash. */
  const groups = (pods: readonly Pod[], periods = shutdownPeriods(SETTINGS)): string =>
    shutdownGroups(pods, periods, ({ spec }) => spec?.priority ?? 0)
      .map((group) =>
        group.pods.map(({ pod: { metadata }, graceSeconds }) => `${metadata?.name}${graceSeconds}`).join(' '),
      )
      .join(' / ');

  test.each<[string, readonly Pod[], string]>([
    ['the critical ones last', [pod('c', CRITICAL), pod('a', 5), pod('b')], 'a20 b20 / c10'],
    ['more than critical with the critical', [pod('n', CRITICAL + 1000)], 'n10'],
    ['those below all first', [pod('low', -7), pod('c', CRITICAL)], 'low20 / c10'],
    ['none longer than it wants', [pod('a', 0, 3), pod('b', 0, 300)], 'a3 b20'],
    ['nothing without pods', [], ''],
  ])('ends %s', (_, pods, expected) => {
    expect(groups(pods)).toBe(expected);
  });

  test('orders pods by the priorities of the settings', () => {
    const pods = [
      pod('top', 200_000),
      pod('mid', 99_999),
      pod('edge', 10_000),
      pod('low', 9_999),
      pod('neg', -1),
    ];
    expect(groups(pods, BY_PRIORITY)).toBe('low60 neg60 / mid180 edge180 / top10');
  });
});
