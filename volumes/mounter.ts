/** Mounts as the volumes need them, on top of the bare system calls. Knows nothing of pods. */
import { readFile, stat, statfs } from 'node:fs/promises';
import { type Held, heldPath } from './held-dir.ts';
import { type MountInfo, parseMountInfo } from './mountinfo.ts';
import { errorCode, VolumeSetupError } from './setup-error.ts';
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
} from './syscalls.ts';

export interface TmpfsOptions {
  /** The directory was made just now: nothing is mounted on it. */
  readonly isNew?: boolean;
  /** Mode of its root directory. */
  readonly mode: number;
  readonly gid?: number;
  /** Most bytes it may hold; half of the memory when absent. */
  readonly sizeBytes?: number;
  /** Keeps its content out of swap, where the kernel can (6.4). */
  readonly noSwap?: boolean;
  /** Refuses set-uid programs and devices: for data that the agent writes. */
  readonly dataOnly?: boolean;
}

export interface HugetlbfsOptions {
  readonly mode: number;
  readonly gid?: number;
  readonly pageSizeBytes: number;
  readonly sizeBytes?: number;
}

export interface BindOptions {
  /** Nobody can write through the copy, nor through what is mounted in it. Not for originals that others own: what
   *  appears in the copy later can be written. */
  readonly readOnly?: boolean;
}

export interface Mounter {
  readonly syscalls: Syscalls;
  /** What the process takes off the modes of what it makes; read once. */
  umask(): Promise<number>;
  /** The agent's mount table now. @throws MountInfoError */
  list(): Promise<readonly MountInfo[]>;
  /** Makes `dir` a tmpfs of its own; one that is there already is left as it is. @throws SyscallError */
  ensureTmpfs(dir: string, options: TmpfsOptions): Promise<void>;
  /** The same for huge pages. @throws SyscallError */
  ensureHugetlbfs(dir: string, options: HugetlbfsOptions): Promise<void>;
  /** Binds the held file or directory onto `target`, without the mounts inside it. Mounts made in the original
   *  appear in the copy, never the other way round, so that unmounting the copy can't reach the original. */
  bind(source: Held, target: string, options?: BindOptions): Promise<void>;
  /** Detaches the mount whose root is held, with all that is mounted in it. @throws SyscallError */
  detach(mount: Held): Promise<void>;
}

/** `f_type` of statfs(2). */
const TMPFS_MAGIC = 0x0102_1994;
const HUGETLBFS_MAGIC = 0x9584_58f6;

/** Whether `dir` is the root of a file system of its own with this magic number.
 *  @throws VolumeSetupError when something else is mounted there */
async function isMounted(dir: string, magic: number): Promise<boolean> {
  const [own, parent] = await Promise.all([stat(dir), stat(`${dir}/..`)]);
  if (own.dev === parent.dev) return false;
  if ((await statfs(dir)).type === magic) return true;
  throw new VolumeSetupError(`${dir} has another file system mounted on it`);
}

/** Node's own way to ask changes it for a moment, for all threads.
 *  Source: proc_pid_status(5), where the line is since 4.7. */
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
      // A kernel before 6.4 doesn't know the option.
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
      // Shared among its own copies, for containers that ask for bidirectional propagation.
      await syscalls.mount({ source: 'none', target, flags: MS_SHARED });
      if (readOnly) await attributes.setReadOnly(target);
    },
    async detach(mount) {
      const target = heldPath(mount);
      // A lazy unmount takes the mounts inside with it, and in a peer group their originals too: leave the group.
      await syscalls.mount({ source: 'none', target, flags: MS_SLAVE | MS_REC });
      await syscalls.unmount(target, MNT_DETACH);
    },
  };
}
