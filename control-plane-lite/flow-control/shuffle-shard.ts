/** Shuffle sharding: deals each flow a hand of few queues out of many, so that a flow that fills its queues
 *  leaves every other flow a free one with high probability. Pure. Source: upstream's shufflesharding package. */
import { createHash } from 'node:crypto';

/** Returns 64 bits that identify a flow: a distinguisher (user or namespace) within a FlowSchema. */
export function flowHash(schema: string, distinguisher: string): bigint {
  return createHash('sha256')
    .update(schema)
    .update('\u0000')
    .update(distinguisher)
    .digest()
    .readBigUInt64LE();
}

/** Returns `handSize` different cards from 0 to `deckSize` - 1: a uniform hand for a uniform hash.
 *  `deckSize` ** `handSize` must not exceed 2 ** 60; validation of PriorityLevelConfigurations checks that. */
export function dealHand(hash: bigint, deckSize: number, handSize: number): readonly number[] {
  const remainders: number[] = [];
  const hand: number[] = [];
  let left = hash;
  for (let dealt = 0; dealt < handSize; dealt += 1) {
    const cards = BigInt(deckSize - dealt);
    remainders.push(Number(left % cards));
    left /= cards;
    // A remainder counts the cards that are still in the deck; earlier draws shift it, the latest first.
    let card = remainders[dealt] ?? 0;
    for (let before = dealt - 1; before >= 0; before -= 1) if (card >= (remainders[before] ?? 0)) card += 1;
    hand.push(card);
  }
  return hand;
}
