import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SIGNALS } from '#eviction/signals.ts';
import { amountError, graceError, parseThresholdTexts } from './eviction-expressions.ts';

const details = (...texts: string[]): readonly string[] => {
  const parsed = parseThresholdTexts(texts);
  return parsed.kind === 'ok' ? [] : parsed.errors.map(({ detail }) => detail);
};

describe('parseThresholdTexts', () => {
  test('reads expressions, with spaces around them', () => {
    expect(parseThresholdTexts(['memory.available<100Mi, nodefs.available < 10%'])).toEqual({
      kind: 'ok',
      value: { 'memory.available': '100Mi', 'nodefs.available': '10%' },
    });
  });

  test('reads nothing from an empty text', () => {
    expect(parseThresholdTexts([''])).toEqual({ kind: 'ok', value: {} });
  });

  test('a later flag replaces a signal', () => {
    expect(parseThresholdTexts(['memory.available<1Gi', 'memory.available<2Gi,pid.available<5%'])).toEqual({
      kind: 'ok',
      value: { 'memory.available': '2Gi', 'pid.available': '5%' },
    });
  });

  test.each([
    ['memory.available', 'at character 1: "memory.available" has no "<"'],
    ['memory.available>1Gi', 'at character 1: "memory.available>1Gi" has no "<"'],
    ['memory.available<1Gi,,pid.available<5%', 'at character 22: an entry is missing here'],
    ['memory.available<1Gi,', 'at character 22: an entry is missing here'],
    ['<5%', 'at character 1: the name before "<" is missing'],
    ['memory.available<<5%', 'at character 18: "<5%" is not a percentage'],
    ['memory.available<', 'at character 18: "" is neither a quantity'],
    [
      'memory.available<5%, nodefs.avail<5%',
      'at character 22: "nodefs.avail" is not an eviction signal; did you mean nodefs.available?',
    ],
    ['memory.available<5%,memory.available<6%', 'at character 21: memory.available is a duplicate'],
    ['memory.available<101%', 'at character 18: "101%" is above 100%'],
    ['memory.available<-1Gi', 'at character 18: "-1Gi" must be above zero'],
    ['memory.available<0', 'at character 18: "0" must be above zero'],
  ])('rejects %j with the character', (text, start) => {
    expect(details(text)).toHaveLength(1);
    expect(details(text)[0]).toContain(start);
  });

  test('reports every error of every text', () => {
    expect(details('a<1Gi,,memory.available<x', 'b')).toHaveLength(4);
  });

  test('round-trips thresholds', () => {
    const amount = fc.oneof(
      fc.integer({ min: 0, max: 100 }).map((number) => `${number}%`),
      fc.integer({ min: 1, max: 9999 }).map((number) => `${number}Mi`),
    );
    const map = fc.dictionary(fc.constantFrom(...SIGNALS), amount);
    fc.assert(
      fc.property(map, (thresholds) => {
        const text = Object.entries(thresholds)
          .map(([signal, value]) => `${signal}<${value}`)
          .join(',');
        expect(parseThresholdTexts([text])).toEqual({ kind: 'ok', value: { ...thresholds } });
      }),
    );
  });

  test('locates every error inside the text or right after it', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', '.', '<', ',', '%', ' ', '1') }), (text) => {
        for (const detail of details(text)) {
          const at = Number(/^at character (\d+):/.exec(detail)?.[1]);
          expect(at).toBeGreaterThanOrEqual(1);
          expect(at).toBeLessThanOrEqual(text.length + 1);
        }
      }),
    );
  });
});

describe('amountError', () => {
  test.each(['1', '100Mi', '0%', '100%', '12.5%', '1e3'])('takes %s', (text) => {
    expect(amountError(text)).toBeUndefined();
  });

  test.each(['%', 'x%', '-5%', '100.1%', '', 'x', '-1', '0'])('rejects %j', (text) => {
    expect(amountError(text)).toBeDefined();
  });

  test('accepts zero for the minimum reclaim', () => {
    expect(amountError('0', true)).toBeUndefined();
    expect(amountError('-1', true)).toBeDefined();
  });
});

test('graceError accepts durations above zero only', () => {
  expect(graceError('1m30s')).toBeUndefined();
  expect(graceError('0s')).toContain('longer than 0s');
  expect(graceError('-1s')).toContain('longer than 0s');
  expect(graceError('90')).toContain('not a duration');
});
