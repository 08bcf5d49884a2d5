/** Every hand-written scanner in production code takes linear time; `patterns.test.ts` finds them. */
import { describe, expect, test } from 'vitest';
import { readsSome, weaknessesOf } from './drive.ts';
import { DRIVERS } from './drivers.ts';

describe('scanners', () => {
  test.each(DRIVERS.map((driver) => [driver.name, driver] as const))(
    '%s',
    { timeout: 600_000 },
    (_, driver) => {
      expect(readsSome(driver)).toBe(driver.refusesAll !== true);
      expect(weaknessesOf(driver)).toEqual([]);
    },
  );
});
