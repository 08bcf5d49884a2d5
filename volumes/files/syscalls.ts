/** System calls without a function in Node, called in libc through koffi. The only file of this top-level
 *  folder that declares foreign functions, apart from `usage/project-calls.ts`; koffi is loaded with the
 *  first call. All calls run on the thread pool.
 *  Source: mount(2), umount2(2), openat2(2), mount_setattr(2). */
import { getSystemErrorName } from 'node:util';
import { createLimiter } from '#api/kit/limiter.ts';

export const MS_RDONLY = 1;
export const MS_NOSUID = 2;
export const MS_NODEV = 4;
export const MS_NOEXEC = 8;
export const MS_REMOUNT = 32;
export const MS_BIND = 4096;
export const MS_REC = 16_384;
export const MS_SLAVE: number = 1 << 19;
export const MS_SHARED: number = 1 << 20;

export const MNT_DETACH = 2;
export const UMOUNT_NOFOLLOW = 8;

/** Open flags that `fs.constants` lacks. */
export const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;

export const RESOLVE_NO_XDEV = 1;
export const RESOLVE_NO_MAGICLINKS = 2;
export const RESOLVE_NO_SYMLINKS = 4;
export const RESOLVE_BENEATH = 8;

/** Names in the kernel's form; a container may choose bytes that are not UTF-8. */
export type PathBytes = string | Buffer;

/** A failed system call; `code` is the error's name, such as `EBUSY`. */
export class SyscallError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly errno: number;

  constructor(syscall: string, errno: number, subject: string) {
    const code = getSystemErrorName(-errno);
    super(`${code}: ${syscall} '${subject}'`);
    this.name = 'SyscallError';
    this.code = code;
    this.syscall = syscall;
    this.errno = errno;
  }
}

export interface MountCall {
  readonly source: string;
  readonly target: string;
  /** Ignored by the kernel for bind mounts and changes of propagation. */
  readonly fsType?: string;
  readonly flags: number;
  /** Comma-separated options of the file system. */
  readonly data?: string;
}

export interface OpenHow {
  readonly flags: number;
  /** `RESOLVE_…` bits. */
  readonly resolve: number;
}

export interface Syscalls {
  /** @throws SyscallError */
  mount(call: MountCall): Promise<void>;
  /** @throws SyscallError */
  unmount(target: string, flags: number): Promise<void>;
  /** Opens `path` relative to `dirFd`, close-on-exec. The caller closes the descriptor. @throws SyscallError */
  openat2(dirFd: number, path: PathBytes, how: OpenHow): Promise<number>;
}

/** Attributes set recursively on a mount. */
export interface MountAttributes {
  /** Makes a mount read-only, including mounts inside if the kernel supports it (5.12). The target's last
   *  part is not followed.
   *  @throws SyscallError */
  setReadOnly(target: string): Promise<void>;
}

type Callback = (error: unknown, result: number | bigint) => void;
interface ForeignFunction {
  readonly async: (...args: [...unknown[], Callback]) => void;
}
interface Libc {
  readonly mount: ForeignFunction;
  readonly umount2: ForeignFunction;
  readonly syscall: ForeignFunction;
  readonly setattr: ForeignFunction;
  readonly errno: () => number;
}

/** Number of openat2, the same on every architecture. */
const SYS_OPENAT2 = 437;
/** Number of mount_setattr, the same on every architecture. */
const SYS_MOUNT_SETATTR = 442;
const AT_FDCWD = -100;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_RECURSIVE = 0x8000;
const MOUNT_ATTR_RDONLY = 1n;
/** koffi rejects calls beyond a fixed number in flight, and the thread pool has four threads. */
const CALLS_IN_FLIGHT = 16;

async function loadLibc(): Promise<Libc> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  return {
    mount: libc.func(
      'int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)',
    ),
    umount2: libc.func('int umount2(const char *target, int flags)'),
    syscall: libc.func('long syscall(long number, int fd, const void *path, const void *how, size_t size)'),
    setattr: libc.func(
      'long syscall(long number, int fd, const char *path, unsigned long flags, const void *attributes, size_t size)',
    ),
    errno: () => koffi.errno(),
  };
}

/** Encodes flags, mode and resolve of `struct open_how`, 64 bits each. */
function encodeHow(how: OpenHow): Buffer {
  const buffer = Buffer.alloc(24);
  buffer.writeBigUInt64LE(BigInt(how.flags | O_CLOEXEC), 0);
  buffer.writeBigUInt64LE(BigInt(how.resolve), 16);
  return buffer;
}

function refuseNul(path: PathBytes): void {
  if (path.includes('\0')) throw new SyscallError('open', 22, JSON.stringify(path.toString()));
}

/** Encodes `struct mount_attr` with these bits to set. */
function encodeAttributes(set: bigint): Buffer {
  const buffer = Buffer.alloc(32);
  buffer.writeBigUInt64LE(set, 0);
  return buffer;
}

export function createSyscalls(): Syscalls & MountAttributes {
  const limiter = createLimiter(CALLS_IN_FLIGHT);
  let loading: Promise<Libc> | undefined;

  function call(
    name: string,
    subject: string,
    start: (libc: Libc) => (done: Callback) => void,
  ): Promise<number> {
    return limiter.run(async () => {
      loading ??= loadLibc();
      const libc = await loading;
      return new Promise<number>((resolve, reject) => {
        start(libc)((error, result) => {
          // The error number of the worker thread is only valid inside this callback.
          if (error !== null && error !== undefined)
            reject(new Error(`failed to call ${name}`, { cause: error }));
          else if (Number(result) < 0) reject(new SyscallError(name, libc.errno(), subject));
          else resolve(Number(result));
        });
      });
    });
  }

  return {
    async mount({ source, target, fsType, flags, data }) {
      for (const text of [source, target, data ?? '']) refuseNul(text);
      await call('mount', target, (libc) => (done) => {
        libc.mount.async(source, target, fsType ?? null, flags, data ?? null, done);
      });
    },
    async unmount(target, flags) {
      refuseNul(target);
      await call('umount', target, (libc) => (done) => libc.umount2.async(target, flags, done));
    },
    async setReadOnly(target) {
      refuseNul(target);
      const attributes = encodeAttributes(MOUNT_ATTR_RDONLY);
      const flags = AT_RECURSIVE | AT_SYMLINK_NOFOLLOW;
      try {
        await call('mount_setattr', target, (libc) => (done) => {
          libc.setattr.async(SYS_MOUNT_SETATTR, AT_FDCWD, target, flags, attributes, attributes.length, done);
        });
      } catch (thrown) {
        if (!(thrown instanceof SyscallError && thrown.code === 'ENOSYS')) throw thrown;
        const remount = MS_REMOUNT | MS_BIND | MS_RDONLY;
        await call('mount', target, (libc) => (done) => {
          libc.mount.async('none', target, null, remount, null, done);
        });
      }
    },
    async openat2(dirFd, path, how) {
      refuseNul(path);
      const bytes = Buffer.concat([Buffer.from(path), Buffer.alloc(1)]);
      const encoded = encodeHow(how);
      return call('open', path.toString(), (libc) => (done) => {
        libc.syscall.async(SYS_OPENAT2, dirFd, bytes, encoded, encoded.length, done);
      });
    },
  };
}
