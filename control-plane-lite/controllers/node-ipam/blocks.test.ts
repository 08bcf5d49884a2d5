import { describe, expect, test } from 'vitest';
import { formatIpRange, type IpRange, parseIpRange, rangeContains } from '#api/meta/ip.ts';
import { createRandom } from '../../../testing/random.ts';
import { createBlocks } from './blocks.ts';

function rangeOf(text: string): IpRange {
  const range = parseIpRange(text);
  if (range === undefined) throw new Error(`${text} is no range`);
  return range;
}
const take = (blocks: ReturnType<typeof createBlocks>, ...owners: readonly string[]): readonly string[] =>
  owners.map((owner) => {
    const found = blocks.allocate(owner);
    return found === undefined ? 'none' : formatIpRange(found);
  });

describe('blocks', () => {
  test.each([
    ['10.0.0.0/22', 24, ['10.0.0.0/24', '10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24', 'none']],
    ['127.123.3.0/24', 24, ['127.123.3.0/24', 'none']],
    ['127.123.0.0/16', 24, ['127.123.0.0/24', '127.123.1.0/24']],
    [
      'beef:1234::/62',
      64,
      ['beef:1234::/64', 'beef:1234:0:1::/64', 'beef:1234:0:2::/64', 'beef:1234:0:3::/64', 'none'],
    ],
    ['2001:db8::/56', 72, ['2001:db8::/72', '2001:db8:0:0:100::/72']],
  ])('of %s with a prefix of %d', (range, blockBits, expected) => {
    const blocks = createBlocks({ range: rangeOf(range), blockBits });
    expect(take(blocks, ...expected.map((_, index) => `n${index}`))).toEqual(expected);
  });

  test('a released block is allocated after all others', () => {
    const blocks = createBlocks({ range: rangeOf('10.0.0.0/22'), blockBits: 24 });
    take(blocks, 'a', 'b');
    blocks.release('a');
    blocks.release('unknown');
    expect(take(blocks, 'c', 'd', 'e', 'f')).toEqual(['10.0.2.0/24', '10.0.3.0/24', '10.0.0.0/24', 'none']);
  });

  test.each([
    ['one of the blocks', '10.0.1.0/24', '10.0.0.0/24', '10.0.2.0/24'],
    ['a part of a block', '10.0.1.128/26', '10.0.0.0/24', '10.0.2.0/24'],
    ['several blocks', '10.0.0.0/23', '10.0.2.0/24', '10.0.3.0/24'],
    ['everything', '10.0.0.0/8', 'none', 'none'],
  ])('an occupied range is left out: %s', (_, occupied, ...expected) => {
    const blocks = createBlocks({ range: rangeOf('10.0.0.0/22'), blockBits: 24 });
    expect(blocks.occupy('services', rangeOf(occupied))).toBe(true);
    expect(take(blocks, 'a', 'b')).toEqual(expected);
    blocks.release('services');
    expect(take(blocks, 'c')).not.toEqual(['none']);
  });

  test.each(['10.0.4.0/24', '9.255.255.0/24', 'fd00::/64'])('%s is outside', (text) => {
    const blocks = createBlocks({ range: rangeOf('10.0.0.0/22'), blockBits: 24 });
    expect(blocks.occupy('a', rangeOf(text))).toBe(false);
  });

  test('two owners of one block: it is free once both are gone', () => {
    const blocks = createBlocks({ range: rangeOf('10.0.0.0/24'), blockBits: 24 });
    blocks.occupy('a', rangeOf('10.0.0.0/24'));
    blocks.occupy('b', rangeOf('10.0.0.0/24'));
    blocks.release('a');
    expect(take(blocks, 'c')).toEqual(['none']);
    blocks.release('b');
    expect(take(blocks, 'c')).toEqual(['10.0.0.0/24']);
  });

  test('properties: blocks are inside, disjoint and complete, whatever comes and goes', () => {
    const random = createRandom(11);
    const range = rangeOf('10.64.0.0/20');
    const blocks = createBlocks({ range, blockBits: 26 });
    const held = new Map<string, IpRange>();
    for (let step = 0; step < 3000; step += 1) {
      const owner = `n${random.below(100)}`;
      if (held.has(owner)) {
        held.delete(owner);
        blocks.release(owner);
        continue;
      }
      const found = blocks.allocate(owner);
      expect(found === undefined).toBe(held.size === 64);
      if (found === undefined) continue;
      const others = [...held.values()].map(({ first }) => first);
      expect(others).not.toContain(found.first);
      expect(rangeContains(range, { family: 'IPv4', number: found.first })).toBe(true);
      held.set(owner, found);
    }
  });
});
