import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IpRange, parseIpRange } from '#api/meta/ip.ts';
import { createMemoryStore } from './memory-store.fixture.ts';
import { createPool } from './pool.ts';
import { repairPool } from './repair.ts';
import { ipSpace, parsePortRange, portSpace } from './spaces.ts';

const range = (text: string): IpRange => {
  const parsed = parseIpRange(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
};

function poolOf(text: string, random: () => number = Math.random) {
  const memory = createMemoryStore();
  let nowMs = 0;
  const deps = { store: memory.store, random, now: () => nowMs };
  return {
    ...memory,
    pool: createPool(deps, ipSpace(range(text))),
    later: (ms: number): void => {
      nowMs += ms;
    },
  };
}

describe('spaces', () => {
  test.each([
    ['10.0.0.0/24', 254, '10.0.0.1', '10.0.0.254'],
    ['10.0.0.0/30', 2, '10.0.0.1', '10.0.0.2'],
    ['10.0.0.0/31', 0, undefined, undefined],
    ['10.0.0.0/32', 0, undefined, undefined],
    ['10.96.0.0/12', 1_048_574, '10.96.0.1', '10.111.255.254'],
    ['10.0.0.0/8', 1_048_575, '10.0.0.1', '10.15.255.255'],
    ['fd00::/112', 65_535, 'fd00::1', 'fd00::ffff'],
    ['fd00::/64', 65_535, 'fd00::1', 'fd00::ffff'],
  ])('%s has %d addresses, %s to %s', (text, size, first, last) => {
    const space = ipSpace(range(text));
    expect(space.size).toBe(size);
    if (first === undefined || last === undefined) return;
    expect([space.textOf(0), space.textOf(size - 1)]).toEqual([first, last]);
    expect([space.indexOf(first), space.indexOf(last)]).toEqual([0, size - 1]);
  });

  test('values outside have no index', () => {
    const ips = ipSpace(range('10.0.0.0/24'));
    for (const text of ['10.0.0.0', '10.0.0.255', '10.0.1.1', 'fd00::1', 'x', '']) {
      expect(ips.indexOf(text)).toBeUndefined();
    }
    const ports = portSpace({ first: 30_000, last: 30_002 });
    expect(['29999', '30000', '30002', '30003', '30000.5', 'x'].map((text) => ports.indexOf(text))).toEqual([
      undefined,
      0,
      2,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test('each index is found again', () => {
    const arbitrary = fc.constantFrom('10.0.0.0/24', '10.96.0.0/12', 'fd00::/112');
    fc.assert(
      fc.property(arbitrary, fc.nat(65_534), (text, at) => {
        const space = ipSpace(range(text));
        const index = at % space.size;
        expect(space.indexOf(space.textOf(index))).toBe(index);
      }),
    );
  });

  test.each([
    ['30000-32767', { first: 30_000, last: 32_767 }],
    ['30000+10', { first: 30_000, last: 30_010 }],
    ['80', { first: 80, last: 80 }],
    ['32767-30000', undefined],
    ['65000-70000', undefined],
    ['a-b', undefined],
    ['', undefined],
  ])('reads the port range %j', (text, expected) => {
    expect(parsePortRange(text)).toEqual(expected);
  });
});

describe('createPool', () => {
  test('gives a value to one owner only, and back only from that one', async () => {
    const { pool, keys } = poolOf('10.0.0.0/24');
    expect(await pool.take('10.0.0.7', 'a/x')).toBe('taken');
    expect(await pool.take('10.0.0.7', 'a/y')).toBe('occupied');
    expect(await pool.take('10.0.1.7', 'a/y')).toBe('outside');
    await pool.free('10.0.0.7', 'a/y');
    expect(keys()).toEqual(['/ranges/services/ips/IPv4/10.0.0.7']);
    await pool.free('10.0.0.7', 'a/x');
    expect(keys()).toEqual([]);
    await pool.free('10.0.0.7', 'a/x');
    await pool.free('nonsense', 'a/x');
  });

  test('counts spellings of one address as one', async () => {
    const { pool } = poolOf('fd00::/112');
    expect(await pool.take('fd00:0::0:7', 'a/x')).toBe('taken');
    expect(await pool.take('fd00::7', 'a/y')).toBe('occupied');
  });

  test('gives away every value before it says that there is none left', async () => {
    // A poor random source: the pool must search sequentially.
    const { pool } = poolOf('10.0.0.0/28', () => 0.5);
    const taken = await Promise.all(Array.from({ length: 14 }, () => pool.takeAny('a/x')));
    expect(new Set(taken).size).toBe(14);
    expect(taken).not.toContain(undefined);
    expect(await pool.takeAny('a/x')).toBeUndefined();
    await pool.free('10.0.0.3', 'a/x');
    expect(await pool.takeAny('a/y')).toBe('10.0.0.3');
  });

  test('has nothing to give of an empty range', async () => {
    expect(await poolOf('10.0.0.0/32').pool.takeAny('a/x')).toBeUndefined();
  });
});

describe('a static subrange', () => {
  test.each([
    ['10.0.0.0/28', 0],
    ['10.0.0.0/27', 16],
    ['10.0.0.0/24', 16],
    ['10.0.0.0/22', 63],
    ['10.96.0.0/12', 256],
  ])('%s has %d addresses for services that name theirs', (text, reserved) => {
    expect(ipSpace(range(text), true).reserved).toBe(reserved);
    expect(ipSpace(range(text)).reserved).toBe(0);
  });

  test('is used for others once no other address is left', async () => {
    const deps = { store: createMemoryStore().store, random: () => 0, now: () => 0 };
    const pool = createPool(deps, ipSpace(range('10.0.0.0/27'), true));
    const taken: (string | undefined)[] = [];
    for (let count = 0; count < 31; count += 1) taken.push(await pool.takeAny('a/x'));
    const numbers = taken.map((text) => (text === undefined ? 0 : Number(text.split('.')[3])));
    expect(numbers.slice(0, 14).every((number) => number > 16)).toBe(true);
    expect(numbers.slice(14, 30).every((number) => number >= 1 && number <= 16)).toBe(true);
    expect(new Set(numbers.slice(0, 30)).size).toBe(30);
    expect(numbers[30]).toBe(0);
    expect(await pool.take('10.0.0.1', 'a/y')).toBe('occupied');
  });
});

describe('repairPool', () => {
  const HOUR = 3_600_000;

  test('restores the allocations of owners, releases those without an owner, reports conflicts', async () => {
    const { pool, later } = poolOf('10.0.0.0/24');
    await pool.take('10.0.0.1', 'a/kept');
    await pool.take('10.0.0.2', 'a/gone');
    later(HOUR);
    const claims = [
      { text: '10.0.0.1', owner: 'a/kept' },
      { text: '10.0.0.3', owner: 'a/lost' },
      { text: '10.0.0.3', owner: 'b/thief' },
      { text: '192.168.0.1', owner: 'a/outside' },
    ];
    expect(await repairPool(pool, claims, HOUR)).toEqual({
      restored: 1,
      freed: 1,
      conflicts: ['10.0.0.3: b/thief'],
    });
    const entries = (await pool.entries()).map(({ text, owner }) => [text, owner]);
    expect(entries).toEqual([
      ['10.0.0.1', 'a/kept'],
      ['10.0.0.3', 'a/lost'],
    ]);
    expect(await repairPool(pool, claims.slice(0, 2), HOUR)).toEqual({
      restored: 0,
      freed: 0,
      conflicts: [],
    });
  });

  test('gives a value to the owner that claims it', async () => {
    const { pool, later } = poolOf('10.0.0.0/24');
    await pool.take('10.0.0.1', 'a/before');
    later(HOUR);
    const claims = [{ text: '10.0.0.1', owner: 'a/now' }];
    expect(await repairPool(pool, claims, HOUR)).toEqual({ restored: 1, freed: 0, conflicts: [] });
    expect((await pool.entries()).map(({ owner }) => owner)).toEqual(['a/now']);
  });

  test('leaves alone what was taken lately: its service may be on the way', async () => {
    const { pool } = poolOf('10.0.0.0/24');
    await pool.take('10.0.0.1', 'a/new');
    expect(await repairPool(pool, [], 60_000)).toMatchObject({ freed: 0 });
    expect(await repairPool(pool, [{ text: '10.0.0.1', owner: 'a/old' }], 60_000)).toMatchObject({
      restored: 0,
    });
    expect(await repairPool(pool, [], 6 * 60_000)).toMatchObject({ freed: 1 });
  });

  test('knows an address in another spelling', async () => {
    const { pool, later } = poolOf('fd00::/112');
    await pool.take('fd00:0::7', 'a/x');
    later(HOUR);
    expect(await repairPool(pool, [{ text: 'fd00:0::7', owner: 'a/x' }], HOUR)).toMatchObject({ freed: 0 });
  });
});
