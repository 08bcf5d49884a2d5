import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compress, decompress } from './compress.ts';

describe('compress', () => {
  test('keeps every piece, in order', async () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.uint8Array(),
      fc.integer({ min: 0, max: 100_000 }).map((size) => 'x'.repeat(size)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece), async (pieces) => {
        const whole = Buffer.concat(pieces.map((each) => Buffer.from(each as string)));
        expect((await decompress(await compress(pieces))).equals(whole)).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('lets others have their turn', async () => {
    const seen = { turns: 0 };
    const over = new AbortController();
    const others = (async () => {
      for (; !over.signal.aborted; seen.turns += 1) await nextTurn();
    })();
    function* long(): Generator<string> {
      for (let steps = 0; seen.turns < 3 && steps < 50_000_000; steps += 1) yield '';
    }
    await compress(long());
    expect(seen.turns).toBeGreaterThanOrEqual(3);
    over.abort();
    await others;
  });

  test('fails as its pieces fail', async () => {
    function* broken(): Generator<string> {
      yield 'a';
      throw new Error('no more');
    }
    await expect(compress(broken())).rejects.toThrow('no more');
  });
});
