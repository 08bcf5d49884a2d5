import { expect, test } from 'vitest';
import { createBatches } from './batches.ts';

/** Controls the batches: each waits until it is released. */
function createRounds(): {
  readonly rounds: string[];
  readonly work: (key: string, items: readonly string[]) => Promise<readonly (Error | undefined)[]>;
  readonly release: () => void;
} {
  const rounds: string[] = [];
  const held: (() => void)[] = [];
  return {
    rounds,
    release: () => held.shift()?.(),
    async work(key, items) {
      rounds.push(`${key}: ${items.join(' ')}`);
      await new Promise<void>((resolve) => held.push(resolve));
      if (items.includes('broken')) throw new Error('round');
      return items.map((item) => (item === 'bad' ? new Error(item) : undefined));
    },
  };
}

test('who comes during a round is in the next one, with all others', async () => {
  const { rounds, work, release } = createRounds();
  const submit = createBatches(work, { most: 3 });
  const first = submit('a', '1');
  const others = ['2', 'bad', '4', '5'].map((item) => submit('a', item).catch((thrown: unknown) => thrown));
  const elsewhere = submit('b', '1');
  expect(rounds).toEqual(['a: 1', 'b: 1']);
  release();
  release();
  await Promise.all([first, elsewhere]);
  expect(rounds).toEqual(['a: 1', 'b: 1', 'a: 2 bad 4']);
  release();
  expect(await Promise.all(others.slice(0, 3))).toEqual([undefined, new Error('bad'), undefined]);
  expect(rounds.at(-1)).toBe('a: 5');
  release();
  expect(await others[3]).toBeUndefined();
});

test('an error of a batch is reported to all its members and to no others', async () => {
  const { work, release } = createRounds();
  const submit = createBatches(work, { most: 9 });
  const broken = submit('a', 'broken');
  const next = submit('a', 'next');
  release();
  await expect(broken).rejects.toThrow('round');
  release();
  await expect(next).resolves.toBeUndefined();
});
