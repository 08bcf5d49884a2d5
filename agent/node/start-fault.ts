/** Why the agent did not start, as a sentence that names the flag and the fix. Pure. */
import { SocketInUseError } from '#api/kit/unix-socket.ts';

/** A fault of the configuration or the machine that the administrator can mend. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

export interface ListenPlace {
  readonly portFlag: string;
  readonly addressFlag: string;
  readonly address: string;
  readonly port: number;
}

/** Runs what listens, and names the flags where it fails. @throws StartError, what the work throws */
export async function listenAt<T>(place: ListenPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const fault = listenFault(codeOf(thrown), place);
    if (fault === undefined) throw thrown;
    throw new StartError(fault, { cause: thrown });
  }
}

function listenFault(
  code: string,
  { portFlag, addressFlag, address, port }: ListenPlace,
): string | undefined {
  const at = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  switch (code) {
    case 'EADDRINUSE':
      return `${portFlag}: another program listens on ${at}; stop it, or choose another port`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${addressFlag}: ${address} does not belong to this machine`;
    case 'EACCES':
      return `${portFlag}: listening on ${at} is not allowed; ports below 1024 need root`;
    default:
      return undefined;
  }
}

/** The same for a socket in the file system. @throws StartError, what the work throws */
export async function listenOn<T>(flag: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof SocketInUseError) {
      throw new StartError(`${flag}: ${thrown.message}`, { cause: thrown });
    }
    if (codeOf(thrown) === 'EINVAL' || codeOf(thrown) === 'ENAMETOOLONG') {
      throw new StartError(`${flag}: ${path} is too long for a socket, which has up to 107 bytes`, {
        cause: thrown,
      });
    }
    throw thrown;
  }
}

/** What failed with the root directory, for a user who may be nobody in particular. */
export function rootDirFault(error: Error, rootDir: string, userId: number | undefined): Error {
  const code = codeOf(error);
  if (code === 'EACCES' || code === 'EPERM') {
    const needs = userId === 0 ? '' : 'the agent needs root; start it with sudo: ';
    return new StartError(`${needs}--root-dir: ${rootDir} may not be written`, { cause: error });
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new StartError(`--root-dir: ${rootDir} is no folder`, { cause: error });
  }
  if (code === 'ENOENT') {
    return new StartError(`--root-dir: ${rootDir} cannot be made: its file system takes no folders`, {
      cause: error,
    });
  }
  if (code === 'EROFS') {
    return new StartError(`--root-dir: ${rootDir} is on a read-only file system`, { cause: error });
  }
  return error;
}
