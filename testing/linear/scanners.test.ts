/** Every function of production code that goes through texts by hand takes time in proportion to them; which there are
 *  is known by `patterns.test.ts`. */
import { describe, expect, test } from 'vitest';
import { readsSome, weaknessesOf } from './drive.ts';
import { DRIVERS } from './drivers.ts';

describe('scanners', () => {
  test.each(DRIVERS.map((driver) => [driver.name, driver] as const))(
    '%s',
    { timeout: 120_000 },
    (_, driver) => {
      expect(readsSome(driver)).toBe(driver.refusesAll !== true);
      expect(weaknessesOf(driver)).toEqual([]);
    },
  );
});
