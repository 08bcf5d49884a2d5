/** Whether the machine swaps. With swap on, limits of memory and evictions come later than they should.
 *  Source: document 3, 4.3 (`--fail-swap-on`); proc(5). */
import { readFile } from 'node:fs/promises';

/** The agent is not to run on a machine that swaps. */
export class SwapOnError extends Error {
  override readonly name = 'SwapOnError';

  constructor(devices: readonly string[]) {
    super(
      `swap is on (${devices.join(', ')}): switch it off with swapoff -a, and out of /etc/fstab, or start the agent ` +
        'with --fail-swap-on=false',
    );
  }
}

/** Reads /proc/swaps: files and devices that are swapped to. */
export const parseSwaps = (text: string): readonly string[] =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.split(/\s+/)[0] ?? '')
    .filter((name) => name !== '');

/** @throws SwapOnError */
export async function refuseSwap(
  { failSwapOn }: { readonly failSwapOn: boolean },
  path = '/proc/swaps',
): Promise<void> {
  if (!failSwapOn) return;
  // A kernel without swap has no such file.
  const devices = parseSwaps(await readFile(path, 'utf8').catch(() => ''));
  if (devices.length > 0) throw new SwapOnError(devices);
}
