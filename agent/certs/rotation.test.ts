import { assert, integer, nat, property, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rotationTime, shareOf } from './rotation.ts';

const DAY_MS = 86_400_000;

describe('rotationTime', () => {
  test.each([
    ['earliest', 0, 70],
    ['in between', 0.5, 80],
    ['latest', 1, 90],
  ])('%s', (_, share, day) => {
    expect(rotationTime({ fromMs: 0, untilMs: 100 * DAY_MS }, share)).toBeCloseTo(day * DAY_MS, 0);
  });

  test('lies between 70 and 90 % of any time, whatever the certificate', () => {
    assert(
      property(uint8Array({ minLength: 1 }), nat(), integer({ min: 1 }), (raw, fromMs, lifeMs) => {
        const at = rotationTime({ fromMs, untilMs: fromMs + lifeMs }, shareOf({ raw: Buffer.from(raw) }));
        expect(at).toBeGreaterThanOrEqual(fromMs + lifeMs * 0.7 - 1);
        expect(at).toBeLessThanOrEqual(fromMs + lifeMs * 0.9 + 1);
      }),
    );
  });

  test('differs for another certificate', () => {
    const shares = Array.from({ length: 20 }, (_, index) => shareOf({ raw: Buffer.from([index]) }));
    expect(new Set(shares).size).toBe(20);
  });
});
