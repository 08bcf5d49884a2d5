/** Swap check. With swap, memory limits and evictions take effect too late.
 *  Source: startup checks, document 3 §4.3 (`--fail-swap-on`); proc(5). */
import { readFile } from 'node:fs/promises';

/** The agent must not run on a machine with swap. */
export class SwapOnError extends Error {
  override readonly name = 'SwapOnError';

  constructor(devices: readonly string[]) {
    super(
      `swap is on (${devices.join(', ')}): disable it with swapoff -a and in /etc/fstab, or start the agent ` +
        'with --fail-swap-on=false',
    );
  }
}

/** Parses /proc/swaps: swap files and devices. */
const parseSwaps = (text: string): readonly string[] =>
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
  // A kernel without swap support lacks this file.
  const devices = parseSwaps(await readFile(path, 'utf8').catch(() => ''));
  if (devices.length > 0) throw new SwapOnError(devices);
}
