/** Memory of a cgroup and of the whole machine, by the kernel's own numbers, for cgroup v1 and v2. What can be given
 *  back without harm, files that nobody reads, is not in use: that is the working set.
 *  @see the kernel's documents on cgroup v1 and v2; proc(5); upstream's memory signals, release 1.24 */
import { join } from 'node:path';

/** Text of a file; rejects where it is not there. */
export type ReadText = (path: string) => Promise<string>;

/** Where memory is counted. */
export interface MemoryHierarchy {
  readonly version: 1 | 2;
  readonly mountPoint: string;
}

export interface MemoryUse {
  /** Everything that is charged, and of that files that were not read for a while; bytes. */
  readonly usageBytes: number;
  readonly inactiveFileBytes: number;
  /** Undefined where there is no limit. */
  readonly limitBytes: number | undefined;
}

export const workingSet = ({ usageBytes, inactiveFileBytes }: MemoryUse): number =>
  Math.max(0, usageBytes - inactiveFileBytes);

/** v1 tells no limit as a number near the largest there is. */
const NO_LIMIT = 2 ** 60;

const unescape = (path: string): string =>
  path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Finds where memory is counted in /proc/self/mountinfo. Beside a hierarchy of v1 for memory, that of v2 has none. */
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

/** The number behind a name in lines of both, in bytes. */
function numberAt(text: string, name: string): number | undefined {
  const found = new RegExp(`^${name}:?\\s+(\\d+)( kB)?$`, 'm').exec(text);
  return found === null ? undefined : Number(found[1]) * (found[2] === undefined ? 1 : 1024);
}

const limitIn = (text: string): number | undefined => {
  const limit = Number(text.trim());
  return Number.isFinite(limit) && limit < NO_LIMIT ? limit : undefined;
};

/** Use of a cgroup below the root. @throws Error of the file system where it is not there */
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

/** Use of the whole machine; its limit is all memory that there is. The root of v2 tells no use: there, and where
 *  memory is not counted at all, what is not free is in use.
 *  @throws Error where /proc does not tell how much there is */
export async function readNodeMemory(
  hierarchy: MemoryHierarchy | undefined,
  readText: ReadText,
): Promise<MemoryUse & { readonly limitBytes: number }> {
  const meminfo = await readText('/proc/meminfo');
  const total = numberAt(meminfo, 'MemTotal');
  const free = numberAt(meminfo, 'MemFree');
  if (total === undefined || free === undefined) throw new Error('/proc/meminfo does not tell the memory');
  if (hierarchy?.version === 1) {
    try {
      return { ...(await readCgroupMemory(hierarchy, '/', readText)), limitBytes: total };
    } catch {
      // Not readable from where the agent runs: as without it.
    }
  }
  const inactiveFileBytes = numberAt(meminfo, 'Inactive\\(file\\)') ?? 0;
  return { usageBytes: total - free, inactiveFileBytes, limitBytes: total };
}
