/** Opens files to which containers have access, safely: no symlink, only a regular file, and inside a given
 *  directory. */

import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { asError, errorCode } from '#api/kit/errno.ts';

/** A file that is missing or must not be read. */
export class LogFileError extends Error {
  override readonly name = 'LogFileError';
  readonly reason: 'NotFound' | 'NotRegular' | 'Outside' | 'Unreadable';
  constructor(reason: LogFileError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.reason = reason;
  }
}

export interface OpenFile {
  readonly file: FileHandle;
  readonly sizeBytes: number;
  /** Device and inode, which identify a rotation. */
  readonly identity: string;
}

// O_NONBLOCK, so that a FIFO in place of the file does not block.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function toLogFileError(path: string, thrown: unknown): LogFileError {
  const error = asError(thrown);
  switch (errorCode(error) ?? '') {
    case 'ENOENT':
    case 'ENOTDIR':
      return new LogFileError('NotFound', `${path} does not exist`, error);
    case 'ELOOP':
    case 'ENXIO': // a socket
      return new LogFileError('NotRegular', `${path} is not a regular file`, error);
    default:
      return new LogFileError('Unreadable', `${path} cannot be read`, error);
  }
}

/** A parent directory may be a symlink too; the kernel reports the real path of the open file. */
async function checkInside(file: FileHandle, path: string, root: string): Promise<void> {
  const actual = await readlink(`/proc/self/fd/${file.fd}`);
  const realRoot = await realpath(root);
  if (!actual.startsWith(realRoot + sep)) {
    throw new LogFileError('Outside', `${path} points outside of ${root}`);
  }
}

/** Opens a regular file for reading. The caller closes it.
 *  @param root directory that must contain the real file; unchecked if omitted
 *  @throws {LogFileError} */
export async function openRegularFile(path: string, root?: string): Promise<OpenFile> {
  let file: FileHandle;
  try {
    file = await open(path, FLAGS);
  } catch (thrown) {
    throw toLogFileError(path, thrown);
  }
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new LogFileError('NotRegular', `${path} is not a regular file`);
    if (root !== undefined) await checkInside(file, path, root);
    return { file, sizeBytes: stat.size, identity: `${stat.dev}:${stat.ino}` };
  } catch (thrown) {
    await file.close();
    throw thrown;
  }
}
