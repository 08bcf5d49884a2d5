/** Small files that survive the agent: written whole or not at all, and on the disk when the write resolves. */
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CREATE_NEW } from '../ownership.ts';
import { errorCode } from '../setup-error.ts';
import { VolumeRecordError } from './records.ts';

export interface RecordFiles {
  /** The file's text; undefined when there is none. @throws VolumeRecordError, the system's error */
  read(path: string): Promise<string | undefined>;
  /** Replaces the file in a directory that exists. */
  write(path: string, text: string): Promise<void>;
  /** Harmless when there is none. */
  remove(path: string): Promise<void>;
}

const LARGEST_BYTES = 256 * 1024;

async function readBounded(path: string): Promise<string> {
  // A pipe or a link in its place is of somebody else.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using file = await open(path, flags);
  const stats = await file.stat();
  if (!stats.isFile()) throw new VolumeRecordError('is not a file');
  if (stats.size > LARGEST_BYTES) throw new VolumeRecordError(`has more than ${LARGEST_BYTES} bytes`);
  return file.readFile('utf8');
}

async function syncDir(dir: string): Promise<void> {
  await using held = await open(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  await held.sync();
}

export function createRecordFiles(): RecordFiles {
  return {
    async read(path) {
      try {
        return await readBounded(path);
      } catch (thrown) {
        const code = errorCode(thrown);
        if (code === 'ENOENT') return undefined;
        if (code === 'ELOOP') throw new VolumeRecordError('is a link', { cause: thrown });
        throw thrown;
      }
    },
    async write(path, text) {
      const temporary = `${path}.tmp`;
      await rm(temporary, { force: true });
      {
        await using file = await open(temporary, CREATE_NEW, 0o600);
        await file.writeFile(text);
        await file.datasync();
      }
      await rename(temporary, path);
      await syncDir(dirname(path));
    },
    remove: (path) => rm(path, { force: true }),
  };
}
