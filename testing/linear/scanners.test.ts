/** Every function of production code that goes through texts by hand takes time in proportion to them. The functions
 *  are found by a parser; a file with one is driven here, or excused with a reason. */
import { describe, expect, test } from 'vitest';
import { readsSome, weaknessesOf } from './drive.ts';
import { DRIVERS, EXCUSED } from './drivers.ts';
import { findAll, findIn } from './sources.ts';

describe('scanners', () => {
  test.each([
    ['const f = (text: string) => { for (let at = 0; at < 9; at += 1) text.charCodeAt(at); }', ['f']],
    ['function g(t: string) { return t.indexOf("a", 5); }', ['g']],
    ['class C { #h(bytes: Buffer) { let i = 0; while (bytes[i] === 3) i += 1; } }', ['#h']],
    ['const k = (r: string) => { while (r !== "") r = r.slice(1); }', ['k']],
    ['const m = (c: Buffer) => { rest = Buffer.concat([rest, c]); }', ['m']],
    ['const n = { async *o(t: string) { for (const x of y) /a/.exec(x); } }', ['o']],
  ])('are found: %s', (text, names) => {
    expect(findIn('a.ts', text).scanners.map(({ name }) => name)).toEqual(names);
  });

  test('are driven, or excused', () => {
    const driven = new Set(DRIVERS.flatMap(({ covers }) => covers));
    const files = new Set(findAll().scanners.map(({ file }) => file));
    expect([...files].filter((file) => !driven.has(file) && !(file in EXCUSED)).toSorted()).toEqual([]);
    expect(Object.keys(EXCUSED).filter((file) => !files.has(file) || driven.has(file))).toEqual([]);
  });

  test.each(DRIVERS.map((driver) => [driver.name, driver] as const))(
    '%s',
    { timeout: 60_000 },
    (_, driver) => {
      expect(readsSome(driver)).toBe(driver.refusesAll !== true);
      expect(weaknessesOf(driver)).toEqual([]);
    },
  );
});
