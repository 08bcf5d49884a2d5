/** Errors that prevent the start of the agent, with the flag and the remedy. Pure. */
import { errorCode, hasCode } from '#api/kit/errno.ts';
import { SocketInUseError } from '#api/kit/sockets/unix-socket.ts';

/** An error of configuration or machine that the administrator can fix. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

export interface ListenPlace {
  readonly portFlag: string;
  readonly addressFlag: string;
  readonly address: string;
  readonly port: number;
}

/** Runs a function that listens, and adds the flags to its errors. @throws StartError, errors of the function
 */
export async function listenAt<T>(place: ListenPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const fieldError = listenError(errorCode(thrown) ?? '', place);
    if (fieldError === undefined) throw thrown;
    throw new StartError(fieldError, { cause: thrown });
  }
}

function listenError(
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

/** The same for a socket in the file system. @throws StartError, errors of the function */
export async function listenOn<T>(flag: string, path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof SocketInUseError) {
      throw new StartError(`${flag}: ${thrown.message}`, { cause: thrown });
    }
    if (hasCode(thrown, 'EINVAL', 'ENAMETOOLONG')) {
      throw new StartError(`${flag}: ${path} is too long for a socket, which has up to 107 bytes`, {
        cause: thrown,
      });
    }
    throw thrown;
  }
}

/** Returns the error of the root directory, for any user. */
export function rootDirError(error: Error, rootDir: string, userId: number | undefined): Error {
  const code = errorCode(error);
  if (code === 'EACCES' || code === 'EPERM') {
    const needs = userId === 0 ? '' : 'the agent needs root; start it with sudo: ';
    return new StartError(`${needs}--root-dir: ${rootDir} is not writable`, { cause: error });
  }
  if (code === 'ENOTDIR' || code === 'EEXIST') {
    return new StartError(`--root-dir: ${rootDir} is not a directory`, { cause: error });
  }
  if (code === 'ENOENT') {
    return new StartError(
      `--root-dir: ${rootDir} cannot be created: its file system does not support directories`,
      {
        cause: error,
      },
    );
  }
  if (code === 'EROFS') {
    return new StartError(`--root-dir: ${rootDir} is on a read-only file system`, { cause: error });
  }
  return error;
}
