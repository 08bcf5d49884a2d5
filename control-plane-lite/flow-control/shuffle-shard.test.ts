import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dealHand, flowHash } from './shuffle-shard.ts';

describe('shuffle sharding', () => {
  test('a hash is the first 8 bytes of the SHA-256 of schema and distinguisher', () => {
    const bytes = createHash('sha256').update('schema\0user').digest();
    expect(flowHash('schema', 'user')).toBe(bytes.readBigUInt64LE(0));
    expect(flowHash('a', 'b')).not.toBe(flowHash('ab', ''));
  });

  test.each<[bigint, number, number, readonly number[]]>([
    [0n, 4, 4, [0, 1, 2, 3]],
    [6n, 128, 1, [6]],
    // 3 of 4, then 2 of the 3 left (0, 1, 2), then 1 of 0 and 1.
    [3n + 4n * 2n + 12n * 1n, 4, 3, [3, 2, 1]],
    [0n + 4n * 0n + 12n * 1n, 4, 3, [0, 1, 3]],
  ])('of %i from %i cards: a hand of %i', (hash, deck, size, hand) => {
    expect(dealHand(hash, deck, size)).toEqual(hand);
  });

  test('a hand has different cards of the deck', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat(127), fc.nat(7), (hash, deck, size) => {
        const deckSize = deck + 1;
        const handSize = Math.min(size + 1, deckSize);
        const hand = dealHand(hash, deckSize, handSize);
        expect(hand).toHaveLength(handSize);
        expect(new Set(hand).size).toBe(handSize);
        for (const card of hand) expect(card >= 0 && card < deckSize).toBe(true);
      }),
    );
  });

  test('the hands of many flows use every card equally often', () => {
    const counts = Array.from({ length: 64 }, () => 0);
    const flows = 8000;
    for (let flow = 0; flow < flows; flow += 1) {
      for (const card of dealHand(flowHash('s', `user-${flow}`), 64, 6))
        counts[card] = (counts[card] ?? 0) + 1;
    }
    const even = (flows * 6) / 64;
    expect(Math.min(...counts)).toBeGreaterThan(even * 0.85);
    expect(Math.max(...counts)).toBeLessThan(even * 1.15);
  });

  test('one flow that fills its hand leaves nearly every other flow a queue of its own', () => {
    const taken = new Set(dealHand(flowHash('s', 'flood'), 128, 6));
    const blocked = Array.from({ length: 5000 }, (_, flow) =>
      dealHand(flowHash('s', `u${flow}`), 128, 6),
    ).filter((hand) => hand.every((card) => taken.has(card)));
    expect(blocked).toEqual([]);
  });
});
