/** Small crash-safe files: written atomically, and on disk when the write resolves. */
import { constants } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '#api/kit/errno.ts';
import { CREATE_NEW } from '../files/ownership.ts';
import { VolumeRecordError } from './records.ts';

export interface RecordFiles {
  /** Returns the file's text; undefined when it does not exist. @throws VolumeRecordError, the system's
   *  error */
  read(path: string): Promise<string | undefined>;
  /** Replaces the file in an existing directory. */
  write(path: string, text: string): Promise<void>;
  /** Removes the file if it exists. */
  remove(path: string): Promise<void>;
}

const MAX_BYTES = 256 * 1024;

async function readBounded(path: string): Promise<string> {
  // A pipe or a link in its place was not written by the agent.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  await using file = await open(path, flags);
  const stats = await file.stat();
  if (!stats.isFile()) throw new VolumeRecordError('is not a file');
  if (stats.size > MAX_BYTES) throw new VolumeRecordError(`has more than ${MAX_BYTES} bytes`);
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
