import { describe, expect, test } from 'vitest';
import { deviceHints } from './device-hints.ts';

const set = (text: string): ReadonlySet<string> => new Set(text.split(' ').filter((one) => one !== ''));
const nodesOf = (device: string): readonly number[] => (device.match(/\d/g) ?? []).map(Number);

/** Hints in the form `1! 3`: node masks, with `!` for the preferred ones. */
function hints(needed: number, all: string, free: string, reusable = ''): string | undefined {
  const request = {
    needed,
    all: set(all),
    free: set(free),
    reusable: set(reusable),
    nodesOf,
    machine: 0b11,
  };
  return deviceHints(request)
    ?.map(({ nodes, preferred }) => `${nodes}${preferred ? '!' : ''}`)
    .join(' ');
}

describe('deviceHints', () => {
  test.each([
    ['nothing where no device reports a NUMA node', hints(1, 'x y', 'x y'), undefined],
    ['every node that has enough', hints(1, 'a0 b1', 'a0 b1'), '1! 2! 3'],
    ['all together where none has enough', hints(2, 'a0 b1', 'a0 b1'), '3!'],
    ['none preferred where a narrower way is taken', hints(2, 'a0 b0 c1', 'a0 c1'), '3'],
    ['no way without enough devices', hints(2, 'a0 b1', 'a0'), ''],
    ['only ways with those of init containers', hints(1, 'a0 b1', 'b1', 'a0'), '1! 3'],
    ['a device that is near two nodes', hints(1, 'a01', 'a01'), '1! 2! 3'],
  ])('returns %s', (_, found, expected) => {
    expect(found).toBe(expected);
  });
});
