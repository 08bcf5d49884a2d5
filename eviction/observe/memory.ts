/** Memory of a cgroup and of the machine, from kernel statistics of cgroup v1 and v2. Inactive files, which
 *  can be reclaimed harmlessly, do not count as used: the result is the working set.
 *  @see the kernel's documents on cgroup v1 and v2; proc(5); upstream's memory signals, release 1.24 */
import { join } from 'node:path';

/** Returns the text of a file; rejects if it does not exist. */
export type ReadText = (path: string) => Promise<string>;

/** Hierarchy with the memory controller. */
export interface MemoryHierarchy {
  readonly version: 1 | 2;
  readonly mountPoint: string;
}

export interface MemoryUse {
  /** Charged memory, and the part in inactive files; bytes. */
  readonly usageBytes: number;
  readonly inactiveFileBytes: number;
  /** Undefined without a limit. */
  readonly limitBytes: number | undefined;
}

export const workingSet = ({ usageBytes, inactiveFileBytes }: MemoryUse): number =>
  Math.max(0, usageBytes - inactiveFileBytes);

/** v1 represents no limit as a number near the maximum. */
const NO_LIMIT = 2 ** 60;

const unescape = (path: string): string =>
  path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Finds the memory controller in /proc/self/mountinfo. Next to a v1 hierarchy for memory, v2 has none. */
export function findMemoryHierarchy(mountinfo: string): MemoryHierarchy | undefined {
  let v2: MemoryHierarchy | undefined;
  for (const line of mountinfo.split('\n')) {
    const [mount = '', fs = ''] = line.split(' - ');
    const mountPoint = unescape(mount.split(' ')[4] ?? '');
    const [type, , options = ''] = fs.split(' ');
    if (type === 'cgroup' && options.split(',').includes('memory')) return { version: 1, mountPoint };
    if (type === 'cgroup2') v2 ??= { version: 2, mountPoint };
  }
  return v2;
}

/** Returns the value of a name, in bytes, for the line formats of both versions. */
function numberAt(text: string, name: string): number | undefined {
  const found = new RegExp(`^${name}:?\\s+(\\d+)( kB)?$`, 'm').exec(text);
  return found === null ? undefined : Number(found[1]) * (found[2] === undefined ? 1 : 1024);
}

const limitIn = (text: string): number | undefined => {
  const limit = Number(text.trim());
  return Number.isFinite(limit) && limit < NO_LIMIT ? limit : undefined;
};

/** Returns the usage of a cgroup below the root. @throws Error of the file system if it does not exist */
export async function readCgroupMemory(
  { version, mountPoint }: MemoryHierarchy,
  path: string,
  readText: ReadText,
): Promise<MemoryUse> {
  const [usage, limit, inactive] =
    version === 1
      ? (['memory.usage_in_bytes', 'memory.limit_in_bytes', 'total_inactive_file'] as const)
      : (['memory.current', 'memory.max', 'inactive_file'] as const);
  const folder = join(mountPoint, path);
  const [used, most, stat] = await Promise.all(
    [usage, limit, 'memory.stat'].map((file) => readText(join(folder, file))),
  );
  return {
    usageBytes: Number((used ?? '').trim()),
    inactiveFileBytes: numberAt(stat ?? '', inactive) ?? 0,
    limitBytes: limitIn(most ?? ''),
  };
}

/** Returns the usage of the machine; its limit is the total memory. The root of v2 reports no usage: there,
 *  and without a memory controller, all memory that is not free counts as used.
 *  @throws Error if /proc has no total */
export async function readNodeMemory(
  hierarchy: MemoryHierarchy | undefined,
  readText: ReadText,
): Promise<MemoryUse & { readonly limitBytes: number }> {
  const meminfo = await readText('/proc/meminfo');
  const total = numberAt(meminfo, 'MemTotal');
  const free = numberAt(meminfo, 'MemFree');
  if (total === undefined || free === undefined) throw new Error('/proc/meminfo has no MemTotal or MemFree');
  if (hierarchy?.version === 1) {
    try {
      return { ...(await readCgroupMemory(hierarchy, '/', readText)), limitBytes: total };
    } catch {
      // Not readable by the agent: same as without it.
    }
  }
  const inactiveFileBytes = numberAt(meminfo, 'Inactive\\(file\\)') ?? 0;
  return { usageBytes: total - free, inactiveFileBytes, limitBytes: total };
}
