/** Opens files that containers write to, or can come near to, without being led elsewhere:
 *  no symlink, nothing but a regular file, and inside a given directory when one is given. */
import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import { asError } from '#api/kit/clock.ts';

/** A file that will not be read: missing, or not what it should be. */
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
  /** Device and inode, by which a rotation is noticed. */
  readonly identity: string;
}

// O_NONBLOCK so that a FIFO put in the file's place does not hold us up.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function errorCode(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function toLogFileError(path: string, thrown: unknown): LogFileError {
  const error = asError(thrown);
  switch (errorCode(error)) {
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

/** A directory on the way may be a symlink too; where the open file really lies, the kernel knows. */
async function checkInside(file: FileHandle, path: string, root: string): Promise<void> {
  const actual = await readlink(`/proc/self/fd/${file.fd}`);
  const realRoot = await realpath(root);
  if (!actual.startsWith(realRoot + sep)) {
    throw new LogFileError('Outside', `${path} leads out of ${root}`);
  }
}

/** Opens a regular file for reading. The caller closes it.
 * @param root directory that must really contain the file; unchecked when left out.
 * @throws {LogFileError} */
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
