/** Kernel calls that read project quotas and assign projects. Linux; koffi is loaded with the first call,
 *  and all calls run on the thread pool. Source: quotactl(2), quotactl_fd(2), ioctl_xfs_fsgetxattr(2). */
import { fstat } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from '#api/kit/errno.ts';
import { SyscallError } from '../files/syscalls.ts';
import { parseMountInfo } from '../mount/mountinfo.ts';
import { deviceNumbers } from './device-numbers.ts';
import type { TreeUsage } from './walk.ts';

export interface ProjectCalls {
  /** Returns the usage of a project on the file system of an open directory; zero for an unused project.
   *  @throws SyscallError `ESRCH`, `ENOSYS`, `EOPNOTSUPP` and others if the file system has no accounting */
  usage(fd: number, project: number): Promise<TreeUsage>;
  /** Returns the project of an open directory, and whether new entries inherit it. @throws SyscallError */
  projectOf(fd: number): Promise<{ readonly project: number; readonly inherited: boolean }>;
  /** Assigns a project to an open directory, inherited by new entries. @throws SyscallError */
  setProject(fd: number, project: number): Promise<void>;
}

type Callback = (error: unknown, result: number | bigint) => void;
interface ForeignFunction {
  readonly async: (...args: [...unknown[], Callback]) => void;
}
interface Libc {
  readonly ioctl: ForeignFunction;
  readonly syscall: ForeignFunction;
  readonly quotactl: ForeignFunction;
  readonly errno: () => number;
}

const fstatFd = promisify(fstat);

const FS_IOC_FSGETXATTR = 0x801c581f;
const FS_IOC_FSSETXATTR = 0x401c5820;
/** `struct fsxattr`: flags, extent size, extents, project, copy-on-write extent size, padding. */
const FSXATTR_BYTES = 28;
const PROJECT_AT = 12;
const INHERIT = 0x200;
/** The same on every architecture. */
const SYS_QUOTACTL_FD = 443;
/** `QCMD(Q_GETQUOTA, PRJQUOTA)` as a signed number. */
const GET_PROJECT_QUOTA = (0x80_00_07 << 8) | 2;
/** `struct dqblk`: limits of blocks, used bytes, limits of inodes, used inodes, times, valid fields. */
const DQBLK_BYTES = 72;
const SPACE_AT = 16;
const INODES_AT = 40;

async function loadLibc(): Promise<Libc> {
  const { default: koffi } = await import('koffi');
  const libc = koffi.load(null);
  return {
    ioctl: libc.func('int ioctl(int fd, unsigned long request, void *data)'),
    syscall: libc.func(
      'long syscall(long number, int fd, unsigned int command, unsigned int id, void *data)',
    ),
    quotactl: libc.func('int quotactl(int command, const char *device, int id, void *data)'),
    errno: () => koffi.errno(),
  };
}

const ENODEV = 19;

/** Returns the device of an open directory's file system. @throws SyscallError `ENODEV` if it has none */
async function deviceOf(fd: number): Promise<string> {
  const numbers = deviceNumbers((await fstatFd(fd)).dev);
  const mounts = parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
  const device = mounts.find((mount) => mount.device === numbers)?.source ?? '';
  const stats = isAbsolute(device) ? await stat(device).catch(() => undefined) : undefined;
  if (stats?.isBlockDevice() === true) return device;
  throw new SyscallError('quotactl', ENODEV, device);
}

export function createProjectCalls(): ProjectCalls {
  let loading: Promise<Libc> | undefined;
  let byDevice = false;

  async function call(name: string, start: (libc: Libc, done: Callback) => void): Promise<void> {
    loading ??= loadLibc();
    const libc = await loading;
    await new Promise<void>((resolve, reject) => {
      start(libc, (error, result) => {
        // The error number of the worker thread is only valid inside this callback.
        if (error !== null && error !== undefined)
          reject(new Error(`failed to call ${name}`, { cause: error }));
        else if (Number(result) < 0) reject(new SyscallError(name, libc.errno(), 'project'));
        else resolve();
      });
    });
  }

  const ioctl = (name: string, fd: number, request: number, data: Buffer): Promise<void> =>
    call(name, (libc, done) => libc.ioctl.async(fd, request, data, done));

  async function getQuota(fd: number, project: number, data: Buffer): Promise<void> {
    if (!byDevice) {
      try {
        return await call('quotactl', (libc, done) =>
          libc.syscall.async(SYS_QUOTACTL_FD, fd, GET_PROJECT_QUOTA >>> 0, project, data, done),
        );
      } catch (thrown) {
        // A kernel before 5.14, or without quotas.
        if (errorCode(thrown) !== 'ENOSYS') throw thrown;
        byDevice = true;
      }
    }
    const device = await deviceOf(fd);
    await call('quotactl', (libc, done) =>
      libc.quotactl.async(GET_PROJECT_QUOTA | 0, device, project, data, done),
    );
  }

  async function attributes(fd: number): Promise<Buffer> {
    const data = Buffer.alloc(FSXATTR_BYTES);
    await ioctl('fsgetxattr', fd, FS_IOC_FSGETXATTR, data);
    return data;
  }

  return {
    async usage(fd, project) {
      const data = Buffer.alloc(DQBLK_BYTES);
      try {
        await getQuota(fd, project, data);
      } catch (thrown) {
        // Some file systems report an unused project like this.
        if (errorCode(thrown) === 'ENOENT') return { usedBytes: 0, inodes: 0 };
        throw thrown;
      }
      return {
        usedBytes: Number(data.readBigUInt64LE(SPACE_AT)),
        inodes: Number(data.readBigUInt64LE(INODES_AT)),
      };
    },
    async projectOf(fd) {
      const data = await attributes(fd);
      return { project: data.readUInt32LE(PROJECT_AT), inherited: (data.readUInt32LE(0) & INHERIT) !== 0 };
    },
    async setProject(fd, project) {
      const data = await attributes(fd);
      data.writeUInt32LE((data.readUInt32LE(0) | INHERIT) >>> 0, 0);
      data.writeUInt32LE(project, PROJECT_AT);
      await ioctl('fssetxattr', fd, FS_IOC_FSSETXATTR, data);
    },
  };
}
