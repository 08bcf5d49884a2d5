import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { refuseSwap, SwapOnError } from './swap.ts';

const HEADER = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

test.each([
  ['a machine without swap', true, HEADER, undefined],
  [
    'a machine that swaps',
    true,
    `${HEADER}/dev/sda2 partition 8388604 0 -2\n/swap file 1024 0 -3\n`,
    SwapOnError,
  ],
  ['a machine that swaps and may', false, `${HEADER}/dev/sda2 partition 8388604 0 -2\n`, undefined],
])('%s', async (_, failSwapOn, text, error) => {
  await using dir = await createTempDir();
  const path = join(dir.path, 'swaps');
  await writeFile(path, text);
  const thrown: unknown = await refuseSwap({ failSwapOn }, path).catch((one: unknown) => one);
  expect(thrown instanceof SwapOnError ? SwapOnError : thrown).toBe(error);
});

test('accepts a kernel without swap, and rejects swap with the remedy', async () => {
  await expect(refuseSwap({ failSwapOn: true }, '/nonexistent/swaps')).resolves.toBeUndefined();
  expect(new SwapOnError(['/dev/sda2']).message).toMatch(/\/dev\/sda2.*swapoff -a.*--fail-swap-on=false/);
});
