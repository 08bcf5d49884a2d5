/** Kernel parameters that a node requires: kill processes rather than panic on OOM, and reboot after a panic.
 *  Source: upstream's container manager (`setupKernelTunables`), 1.24; the kernel's document on sysctl. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';

/** By path below /proc/sys. */
export const KERNEL_DEFAULTS: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

export interface Difference {
  readonly name: string;
  readonly actual: number;
  readonly wanted: number;
}

/** Kernel parameters differ from the required values and are protected. */
export class KernelDefaultsError extends Error {
  override readonly name = 'KernelDefaultsError';

  constructor(differences: readonly Difference[]) {
    const settings = differences.map(({ name, wanted }) => `${name.replaceAll('/', '.')}=${wanted}`);
    super(
      'kernel parameters differ from what a node needs and are protected (--protect-kernel-defaults): set ' +
        `them with sysctl -w ${settings.join(' ')}`,
    );
  }
}

export interface KernelDefaultsOptions {
  /** `--protect-kernel-defaults` */
  readonly isProtected: boolean;
  /** Whether to set parameters. Deviation: an agent without an API server does not modify the machine. */
  readonly sets: boolean;
  readonly root?: string;
}

/** Returns the differing parameters. One that this kernel lacks is ignored. */
export async function readDifferences(root = '/proc/sys'): Promise<readonly Difference[]> {
  const all = await Promise.all(
    Object.entries(KERNEL_DEFAULTS).map(async ([name, wanted]) => {
      const text = await readFile(join(root, name), 'utf8').catch(() => String(wanted));
      return { name, actual: Number(text.trim()), wanted };
    }),
  );
  return all.filter(({ actual, wanted }) => actual !== wanted);
}

/** @throws KernelDefaultsError */
export async function keepKernelDefaults(
  { isProtected, sets, root = '/proc/sys' }: KernelDefaultsOptions,
  log: Logger,
): Promise<void> {
  if (!isProtected && !sets) return;
  const differences = await readDifferences(root);
  if (isProtected && differences.length > 0) throw new KernelDefaultsError(differences);
  for (const { name, actual, wanted } of differences) {
    try {
      await writeFile(join(root, name), `${wanted}\n`);
      log.info({ parameter: name, before: actual, now: wanted }, 'Kernel parameter set');
    } catch (thrown) {
      const err = asError(thrown);
      log.warn({ err, parameter: name, actual, wanted }, 'Failed to set kernel parameter');
    }
  }
}
