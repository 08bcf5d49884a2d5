/** Kernel files in `/sys` and `/proc` that describe and control devices. */
import { readdir, readFile } from 'node:fs/promises';
import { unlessCode } from '#api/kit/errno.ts';
import type { DeviceServices } from '../contract/devices.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { failText } from '../programs/errors.ts';

/** Devices may disappear during a read: files of a disappearing device return ENODEV and EINVAL. */
const GONE = ['ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO', 'EINVAL'];

/** Returns the trimmed text of the file; undefined if it does not exist. */
export async function readKernelFile(path: string): Promise<string | undefined> {
  let text: string | undefined;
  await unlessCode(GONE, async () => {
    text = (await readFile(path, 'utf8')).trim();
  });
  return text;
}

/** Returns sorted names in a directory; empty if it does not exist. */
export async function readKernelFolder(path: string): Promise<readonly string[]> {
  let names: readonly string[] = [];
  await unlessCode(GONE, async () => {
    names = (await readdir(path)).toSorted();
  });
  return names;
}

/** A disk that does not respond blocks the writer until the kernel times out. */
const WRITE_TIMEOUT_MS = 60_000;

/** Writes a kernel file through a program: the kernel may block the writer, which must not occupy one of
 *  the few threads of this process. @throws VolumeSetupError */
export async function writeKernelFile(
  { run }: Pick<DeviceServices, 'run'>,
  path: string,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const result = await run('tee', [path], { signal, timeoutMs: WRITE_TIMEOUT_MS, input: text });
  if (result.code !== 0) throw new VolumeSetupError(failText('tee', result));
}
