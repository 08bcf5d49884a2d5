/** Mount operations for volumes, on top of system calls. Knows nothing about pods. */
import { readFile, stat, statfs } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { type Held, heldPath } from '../files/held-dir.ts';
import {
  createSyscalls,
  MNT_DETACH,
  type MountAttributes,
  MS_BIND,
  MS_NODEV,
  MS_NOSUID,
  MS_REC,
  MS_SHARED,
  MS_SLAVE,
  type Syscalls,
} from '../files/syscalls.ts';
import { type MountInfo, parseMountInfo } from './mountinfo.ts';

export interface TmpfsOptions {
  /** The directory was just created: nothing is mounted on it. */
  readonly isNew?: boolean;
  /** Mode of its root directory. */
  readonly mode: number;
  readonly gid?: number;
  /** Size limit in bytes; half of the memory when absent. */
  readonly sizeBytes?: number;
  /** Excludes its content from swap, if the kernel supports it (6.4). */
  readonly noSwap?: boolean;
  /** Disables set-uid programs and devices: for data written by the agent. */
  readonly dataOnly?: boolean;
}

export interface HugetlbfsOptions {
  readonly mode: number;
  readonly gid?: number;
  readonly pageSizeBytes: number;
  readonly sizeBytes?: number;
}

export interface BindOptions {
  /** Makes the copy and the mounts in it read-only. Not for originals owned by others: mounts that appear
   *  in the copy later are writable. */
  readonly readOnly?: boolean;
}

export interface Mounter {
  readonly syscalls: Syscalls;
  /** Returns the process's umask; read once. */
  umask(): Promise<number>;
  /** Returns the agent's current mount table. @throws MountInfoError */
  list(): Promise<readonly MountInfo[]>;
  /** Mounts a tmpfs at `dir`; an existing one stays unchanged. @throws SyscallError */
  ensureTmpfs(dir: string, options: TmpfsOptions): Promise<void>;
  /** The same for huge pages. @throws SyscallError */
  ensureHugetlbfs(dir: string, options: HugetlbfsOptions): Promise<void>;
  /** Binds the held file or directory onto `target`, without the mounts inside it. Mounts made in the
   *  original appear in the copy, never the reverse, so that unmounting the copy cannot reach the
   *  original. */
  bind(source: Held, target: string, options?: BindOptions): Promise<void>;
  /** Detaches the mount whose root is held, with all mounts in it. @throws SyscallError */
  detach(mount: Held): Promise<void>;
}

/** `f_type` of statfs(2). */
const TMPFS_MAGIC = 0x0102_1994;
const HUGETLBFS_MAGIC = 0x9584_58f6;

/** Reports whether `dir` is the root of its own file system with this magic number.
 *  @throws VolumeSetupError when something else is mounted there */
async function isMounted(dir: string, magic: number): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(dir), stat(`${dir}/..`)]);
  if (own.dev === parent.dev) return false;
  if ((await statfs(dir)).type === magic) return true;
  throw new VolumeSetupError(`${dir} has another file system mounted on it`);
}

/** `process.umask()` changes it for a moment, for all threads.
 *  Source: proc_pid_status(5), which has the line since 4.7. */
async function readUmask(): Promise<number> {
  const line = /^Umask:\s*([0-7]+)$/m.exec(await readFile('/proc/self/status', 'utf8'));
  return line?.[1] === undefined ? 0o777 : Number.parseInt(line[1], 8);
}

const octal = (mode: number): string => `0${(mode & 0o7777).toString(8)}`;

function dataOf(entries: Readonly<Record<string, string | number | true | undefined>>): string {
  return Object.entries(entries)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => (value === true ? key : `${key}=${value}`))
    .join(',');
}

export function createMounter(
  syscalls: Syscalls = createSyscalls(),
  attributes: MountAttributes = createSyscalls(),
): Mounter {
  async function mountTmpfs(dir: string, options: TmpfsOptions): Promise<void> {
    const { mode, gid, sizeBytes, noSwap, dataOnly } = options;
    const flags = dataOnly === true ? MS_NOSUID | MS_NODEV : 0;
    const mount = async (noswap: true | undefined): Promise<void> => {
      const data = dataOf({ mode: octal(mode), gid, size: sizeBytes, noswap });
      await syscalls.mount({ source: 'tmpfs', target: dir, fsType: 'tmpfs', flags, data });
    };
    if (noSwap !== true) return mount(undefined);
    try {
      await mount(true);
    } catch (thrown) {
      // A kernel before 6.4 does not know the option.
      if (errorCode(thrown) !== 'EINVAL') throw thrown;
      await mount(undefined);
    }
  }

  let umask: Promise<number> | undefined;
  return {
    syscalls,
    umask() {
      umask ??= readUmask();
      return umask;
    },
    list: async () => parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8')),
    async ensureTmpfs(dir, options) {
      if (options.isNew === true || !(await isMounted(dir, TMPFS_MAGIC))) await mountTmpfs(dir, options);
    },
    async ensureHugetlbfs(dir, { mode, gid, pageSizeBytes, sizeBytes }) {
      if (await isMounted(dir, HUGETLBFS_MAGIC)) return;
      const data = dataOf({ mode: octal(mode), gid, pagesize: pageSizeBytes, size: sizeBytes });
      const flags = MS_NOSUID | MS_NODEV;
      await syscalls.mount({ source: 'nodev', target: dir, fsType: 'hugetlbfs', flags, data });
    },
    async bind(source, target, { readOnly = false } = {}) {
      await syscalls.mount({ source: heldPath(source), target, flags: MS_BIND });
      await syscalls.mount({ source: 'none', target, flags: MS_SLAVE });
      // Shared among its own copies, for containers with bidirectional propagation.
      await syscalls.mount({ source: 'none', target, flags: MS_SHARED });
      if (readOnly) await attributes.setReadOnly(target);
    },
    async detach(mount) {
      const target = heldPath(mount);
      // A lazy unmount also detaches the mounts inside, and in a peer group their originals: leave the group.
      await syscalls.mount({ source: 'none', target, flags: MS_SLAVE | MS_REC });
      await syscalls.unmount(target, MNT_DETACH);
    },
  };
}
