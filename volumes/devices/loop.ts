/** Loop devices: files, or other devices, as block devices. */
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';

export interface LoopDeps {
  readonly run: RunProgram;
  readonly paths: DevicePaths;
}

export interface LoopOptions {
  readonly readOnly?: boolean;
  /** Exposes partitions as devices. */
  readonly partitions?: boolean;
}

const LOSETUP_MS = 30_000;

/** Returns loop devices backed by this file or device, such as `/dev/loop3`. */
export async function findLoops({ dev, sys }: DevicePaths, file: string): Promise<readonly string[]> {
  const path = await realpath(file);
  const block = join(sys, 'block');
  const names = (await readdir(block)).filter((name) => /^loop\d+$/.test(name));
  const found = await Promise.all(
    names.map(async (name) => {
      const backing = await backingFile(join(block, name, 'loop/backing_file'));
      return backing === path ? [join(dev, name)] : [];
    }),
  );
  return found.flat();
}

async function backingFile(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).replace(/\n$/, '');
  } catch (thrown) {
    // Unused, or no longer used.
    if (['ENOENT', 'ENXIO', 'ENODEV'].includes(errorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

/** Creates a loop device for the file, or returns an existing one.
 *  @throws VolumeSetupError, MissingProgramError, the signal's reason */
export async function attachLoop(
  { run, paths }: LoopDeps,
  file: string,
  { readOnly = false, partitions = false }: LoopOptions,
  signal: AbortSignal,
): Promise<string> {
  const [there] = await findLoops(paths, file);
  if (there !== undefined) return there;
  const flags = [...(readOnly ? ['--read-only'] : []), ...(partitions ? ['--partscan'] : [])];
  const args = ['--find', '--show', ...flags, '--', file];
  const result = await run('losetup', args, { signal, timeoutMs: LOSETUP_MS });
  const device = result.stdout.trim();
  if (result.code === 0 && device !== '') return device;
  throw new VolumeSetupError(`failed to set up a loop device for ${file}: ${failText('losetup', result)}`);
}

/** Detaches the loop device from its file; while it is open, the kernel defers this until it is closed.
 *  Idempotent. @throws VolumeSetupError, MissingProgramError, the signal's reason */
export async function detachLoop(
  { run }: Pick<LoopDeps, 'run'>,
  device: string,
  signal: AbortSignal,
): Promise<void> {
  const result = await run('losetup', ['--detach', device], { signal, timeoutMs: LOSETUP_MS });
  if (result.code === 0 || /No such device/.test(result.stderr)) return;
  throw new VolumeSetupError(`failed to detach ${device}: ${failText('losetup', result)}`);
}
