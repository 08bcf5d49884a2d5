/** Held directories and names relative to them. `/proc/self/fd/N/name` reaches `name` in the directory
 *  that was opened, whatever its path means now. With one name at a time and calls that do not follow a
 *  last link, nothing that a container does to its volume can lead out of it. */
import { close, constants, fstat, type Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';
import {
  O_PATH,
  type OpenHow,
  type PathBytes,
  RESOLVE_BENEATH,
  RESOLVE_NO_SYMLINKS,
  RESOLVE_NO_XDEV,
  type Syscalls,
} from './syscalls.ts';

const closeFd = promisify(close);
const fstatFd = promisify(fstat);

/** An open descriptor that closes itself with `await using`; Node's FileHandle implements it too. */
export interface Held extends AsyncDisposable {
  readonly fd: number;
}

/** Returns the path of the held object itself. */
export const heldPath = (held: Held): string => `/proc/self/fd/${held.fd}`;

/** Returns the path of one name inside a held directory. @throws RangeError for anything but a single name */
export function at(dir: Held, name: string): string;
export function at(dir: Held, name: PathBytes): PathBytes;
export function at(dir: Held, name: PathBytes): PathBytes {
  if (name.length === 0 || name.includes('/') || name.toString() === '.' || name.toString() === '..') {
    throw new RangeError(`not a single name: ${JSON.stringify(name.toString())}`);
  }
  if (typeof name === 'string') return `/proc/self/fd/${dir.fd}/${name}`;
  return Buffer.concat([Buffer.from(`/proc/self/fd/${dir.fd}/`), name]);
}

/** Opens a directory whose path only root can change; a link as its last part is rejected. */
export async function holdDir(path: PathBytes): Promise<Held> {
  return open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/** Opens the object itself without reading it, be it a link, a pipe or a device. */
export async function holdPath(path: PathBytes): Promise<Held> {
  return open(path, O_PATH | constants.O_NOFOLLOW);
}

/** Opens a path relative to a held directory, restricted by openat2 flags. @throws SyscallError */
export async function holdAt(syscalls: Syscalls, dir: Held, path: PathBytes, how: OpenHow): Promise<Held> {
  const fd = await syscalls.openat2(dir.fd, path, how);
  return { fd, [Symbol.asyncDispose]: () => closeFd(fd) };
}

/** Opens a subdirectory for listing: the kernel rejects links on the way and mount points.
 *  @throws SyscallError `EXDEV` at a mount point, `ELOOP` or `ENOTDIR` for a link */
export async function holdSubdir(syscalls: Syscalls, dir: Held, path: PathBytes): Promise<Held> {
  return holdAt(syscalls, dir, path, {
    flags: constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
    resolve: RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
  });
}

export async function statHeld(held: Held): Promise<Stats> {
  return fstatFd(held.fd);
}
