import { expect, test } from 'vitest';
import { keepHeapSmall } from './small-heap.ts';

test.each<[string[], number]>([
  [[], 2],
  [['--expose-gc', '--no-warnings'], 2],
  [['--max-semi-space-size=1', '--optimize-for-size'], 0],
  [['--max_semi_space_size=64'], 0],
  [['--max-old-space-size=4096'], 0],
])('with the flags %j, %d settings are applied', (flags, count) => {
  const made: string[] = [];
  keepHeapSmall(flags, (flag) => made.push(flag));
  expect(made).toHaveLength(count);
});
