/** Small files by which the kernel tells of devices and is told what to do with them. */
import { readdir, readFile } from 'node:fs/promises';
import { failText } from '../programs/errors.ts';
import { unlessCode, VolumeSetupError } from '../setup-error.ts';
import type { DeviceServices } from './contract.ts';

/** Devices come and go while one looks: ENODEV and EINVAL are from files of one that is going. */
const GONE = ['ENOENT', 'ENOTDIR', 'ENODEV', 'ENXIO', 'EINVAL'];

/** The file's text without space around it; undefined where there is none. */
export async function readKernelFile(path: string): Promise<string | undefined> {
  let text: string | undefined;
  await unlessCode(GONE, async () => {
    text = (await readFile(path, 'utf8')).trim();
  });
  return text;
}

/** Names in a folder, in order; none where there is no such folder. */
export async function readKernelFolder(path: string): Promise<readonly string[]> {
  let names: readonly string[] = [];
  await unlessCode(GONE, async () => {
    names = (await readdir(path)).toSorted();
  });
  return names;
}

/** A disk that doesn't answer holds the writer for as long as the kernel has patience. */
const WRITE_PATIENCE_MS = 60_000;

/** Writes a file of the kernel. By a program, as the kernel may hold whoever writes: it must not be this process,
 *  whose few threads everything else needs. @throws VolumeSetupError */
export async function writeKernelFile(
  { run }: Pick<DeviceServices, 'run'>,
  path: string,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const result = await run('tee', [path], { signal, timeoutMs: WRITE_PATIENCE_MS, input: text });
  if (result.code !== 0) throw new VolumeSetupError(failText('tee', result));
}
