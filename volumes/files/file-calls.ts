/** File calls for writing and inspecting content, in two variants: on the thread pool, for file systems
 *  that may block; and directly, for those in memory, where a call takes microseconds and a handover takes
 *  longer. */
import {
  close,
  closeSync,
  constants,
  fchmod,
  fchmodSync,
  fchown,
  fchownSync,
  fstat,
  fstatSync,
  mkdir,
  mkdirSync,
  open,
  openSync,
  read,
  readdir,
  readdirSync,
  readlink,
  readlinkSync,
  readSync,
  rename,
  renameSync,
  type Stats,
  symlink,
  symlinkSync,
  writeFile,
  writeFileSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { type Held, heldPath } from './held-dir.ts';

/** Access mode bits of open flags. */
const O_ACCMODE = 3;

type MayWait<T> = T | Promise<T>;

/** Every call throws the system's error. */
export interface FileCalls {
  open(path: string, flags: number, mode?: number): MayWait<Held>;
  stat(held: Held): MayWait<Stats>;
  list(dir: Held): MayWait<readonly string[]>;
  /** Reads the beginning of a file, at most this many bytes. */
  read(file: Held, bytes: number): MayWait<Buffer>;
  write(file: Held, data: Buffer): MayWait<void>;
  chmod(held: Held, mode: number): MayWait<void>;
  /** Changes owner and group. */
  chown(held: Held, uid: number, gid: number): MayWait<void>;
  mkdir(path: string, mode: number): MayWait<void>;
  readlink(path: string): MayWait<string>;
  rename(from: string, to: string): MayWait<void>;
  symlink(target: string, path: string): MayWait<void>;
}

const pooled = {
  open: promisify(open),
  close: promisify(close),
  stat: promisify(fstat),
  list: promisify(readdir),
  read: promisify(read),
  write: promisify(writeFile),
  chmod: promisify(fchmod),
  chown: promisify(fchown),
  mkdir: promisify(mkdir),
  readlink: promisify(readlink),
  rename: promisify(rename),
  symlink: promisify(symlink),
};

const closeAtOnce = (fd: number): Promise<void> => {
  closeSync(fd);
  return Promise.resolve();
};

/** On the thread pool. Descriptors used only for reading or inspection are closed synchronously, since
 *  that does not block. */
export const POOLED: FileCalls = {
  async open(path, flags, mode) {
    const fd = await pooled.open(path, flags, mode);
    const end = (flags & O_ACCMODE) === constants.O_RDONLY ? closeAtOnce : pooled.close;
    return { fd, [Symbol.asyncDispose]: () => end(fd) };
  },
  stat: ({ fd }) => pooled.stat(fd),
  list: (dir) => pooled.list(heldPath(dir)),
  async read({ fd }, bytes) {
    const buffer = Buffer.alloc(bytes);
    let filled = 0;
    for (let more = bytes; more > 0 && filled < bytes; filled += more)
      more = (await pooled.read(fd, buffer, filled, bytes - filled, filled)).bytesRead;
    return buffer.subarray(0, filled);
  },
  write: ({ fd }, data) => pooled.write(fd, data),
  chmod: ({ fd }, mode) => pooled.chmod(fd, mode),
  chown: ({ fd }, uid, gid) => pooled.chown(fd, uid, gid),
  mkdir: (path, mode) => pooled.mkdir(path, mode),
  readlink: (path) => pooled.readlink(path),
  rename: (from, to) => pooled.rename(from, to),
  symlink: (target, path) => pooled.symlink(target, path),
};

/** Synchronous, on the event loop. Only for file systems in memory. */
export const DIRECT: FileCalls = {
  open(path, flags, mode) {
    const fd = openSync(path, flags, mode);
    return { fd, [Symbol.asyncDispose]: () => closeAtOnce(fd) };
  },
  stat: ({ fd }) => fstatSync(fd),
  list: (dir) => readdirSync(heldPath(dir)),
  read({ fd }, bytes) {
    const buffer = Buffer.alloc(bytes);
    let filled = 0;
    for (let more = bytes; more > 0 && filled < bytes; filled += more)
      more = readSync(fd, buffer, filled, bytes - filled, filled);
    return buffer.subarray(0, filled);
  },
  write: ({ fd }, data) => writeFileSync(fd, data),
  chmod: ({ fd }, mode) => fchmodSync(fd, mode),
  chown: ({ fd }, uid, gid) => fchownSync(fd, uid, gid),
  mkdir: (path, mode) => mkdirSync(path, mode),
  readlink: (path) => readlinkSync(path),
  rename: (from, to) => renameSync(from, to),
  symlink: (target, path) => symlinkSync(target, path),
};
