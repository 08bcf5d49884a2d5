/** Writes the entries of a container's archive below a directory. The archive is untrusted: only directories and
 *  regular files are written, never through a link, and never outside of the directory. */
import { constants } from 'node:fs';
import { lstat, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { CommandError } from '../errors.ts';
import { readTar, type TarEntryStream } from './tar-reader.ts';

export interface ExtractTarget {
  /** Existing directory. */
  readonly folder: string;
  /** Name of the copy in the folder. */
  readonly name: string;
  /** Name of the copied file or directory in the archive. */
  readonly source: string;
  /** Called for each entry that is not written. */
  readonly onSkipped: (path: string, why: string) => Promise<void>;
}

/** @returns number of written files and directories
 *  @throws TarError, CommandError */
export async function extractTar(stream: AsyncIterable<Uint8Array>, target: ExtractTarget): Promise<number> {
  let count = 0;
  for await (const entry of readTar(stream)) {
    const steps = targetSteps(entry.path, target);
    if (steps === undefined) {
      await target.onSkipped(entry.path, 'its path leaves the copied directory');
      continue;
    }
    if (entry.type !== '0' && entry.type !== '7' && entry.type !== '5') {
      await target.onSkipped(entry.path, SKIPPED[entry.type] ?? 'it is neither a file nor a directory');
      continue;
    }
    await writeEntry(target.folder, steps, entry);
    count += 1;
  }
  return count;
}

const SKIPPED: Readonly<Record<string, string>> = {
  1: 'it is a hard link',
  2: 'it is a symbolic link',
  3: 'it is a device',
  4: 'it is a device',
  6: 'it is a pipe',
};

/** Returns the path below the folder; undefined for one outside of the copied file or directory. */
export function targetSteps(
  path: string,
  { source, name }: Pick<ExtractTarget, 'source' | 'name'>,
): readonly string[] | undefined {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.');
  if (path.startsWith('/') || path.includes('\0') || steps.includes('..')) return undefined;
  const [first, ...rest] = steps;
  return first === source || source === '.' ? [name, ...(source === '.' ? steps : rest)] : undefined;
}

async function writeEntry(folder: string, steps: readonly string[], entry: TarEntryStream): Promise<void> {
  const parents = entry.type === '5' ? steps : steps.slice(0, -1);
  let at = folder;
  for (const step of parents) {
    at = join(at, step);
    await ensureFolder(at, entry.type === '5' ? entry.mode | 0o700 : 0o755);
  }
  if (entry.type !== '5') await writeContent(join(at, steps.at(-1) ?? ''), entry);
}

/** @throws CommandError for anything but a directory: a link in the target could lead elsewhere */
async function ensureFolder(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (thrown) {
    if (!hasCode(thrown, 'EEXIST')) throw new CommandError(`cannot create ${path}`, { cause: thrown });
    if (!(await lstat(path)).isDirectory()) throw new CommandError(`${path} exists and is not a directory`);
  }
}

const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

async function writeContent(path: string, { mode, content }: TarEntryStream): Promise<void> {
  try {
    await using file = await open(path, WRITE | constants.O_NONBLOCK, mode);
    if (!(await file.stat()).isFile()) throw new CommandError('exists and is not a file');
    for await (const chunk of content) await file.writeFile(chunk);
    await file.chmod(mode);
  } catch (cause) {
    throw new CommandError(`cannot write ${path}`, { cause });
  }
}
