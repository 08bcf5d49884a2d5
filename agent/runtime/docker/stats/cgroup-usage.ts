/** Reads CPU and memory usage of a cgroup. Docker's own statistics need a request and tens of files each. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';

export interface CgroupUsage {
  readonly cpuNs: bigint;
  readonly memoryBytes: bigint;
  /** Memory without inactive file pages. */
  readonly workingSetBytes: bigint;
  readonly rssBytes: bigint;
  readonly pageFaults: bigint;
  readonly majorPageFaults: bigint;
}

type Counters = ReadonlyMap<string, bigint>;

const NUMBER = /^\d{1,19}$/;

/** Parses lines of a name and a number. Pure. */
export function parseCounters(text: string): Counters {
  const counters = new Map<string, bigint>();
  for (const line of text.split('\n')) {
    const [name = '', number = ''] = line.split(' ');
    if (NUMBER.test(number)) counters.set(name, BigInt(number));
  }
  return counters;
}

const numberOf = (text: string): bigint => (NUMBER.test(text.trim()) ? BigInt(text.trim()) : 0n);

interface Raw {
  readonly cpuNs: bigint;
  readonly memoryBytes: bigint;
  readonly counters: Counters;
}

function usageOf({ cpuNs, memoryBytes, counters }: Raw, names: readonly [string, string]): CgroupUsage {
  const [inactive, rss] = names.map((name) => counters.get(name) ?? 0n);
  const idleBytes = inactive ?? 0n;
  return {
    cpuNs,
    memoryBytes,
    workingSetBytes: memoryBytes > idleBytes ? memoryBytes - idleBytes : 0n,
    rssBytes: rss ?? 0n,
    pageFaults: counters.get('pgfault') ?? 0n,
    majorPageFaults: counters.get('pgmajfault') ?? 0n,
  };
}

async function readV1(root: string, path: string): Promise<CgroupUsage> {
  const [cpu, memory, stat] = await Promise.all([
    readFile(join(root, 'cpuacct', path, 'cpuacct.usage'), 'utf8'),
    readFile(join(root, 'memory', path, 'memory.usage_in_bytes'), 'utf8'),
    readFile(join(root, 'memory', path, 'memory.stat'), 'utf8'),
  ]);
  const raw = { cpuNs: numberOf(cpu), memoryBytes: numberOf(memory), counters: parseCounters(stat) };
  return usageOf(raw, ['total_inactive_file', 'total_rss']);
}

async function readV2(root: string, path: string): Promise<CgroupUsage> {
  const [cpu, memory, stat] = await Promise.all([
    readFile(join(root, path, 'cpu.stat'), 'utf8'),
    readFile(join(root, path, 'memory.current'), 'utf8'),
    readFile(join(root, path, 'memory.stat'), 'utf8'),
  ]);
  const cpuNs = (parseCounters(cpu).get('usage_usec') ?? 0n) * 1000n;
  return usageOf({ cpuNs, memoryBytes: numberOf(memory), counters: parseCounters(stat) }, [
    'inactive_file',
    'anon',
  ]);
}

/** Undefined if the cgroup does not exist. @param path below the mount, see `cgroupPathOf` */
export async function readCgroupUsage(
  version: 1 | 2,
  path: string,
  root = '/sys/fs/cgroup',
): Promise<CgroupUsage | undefined> {
  try {
    return await (version === 1 ? readV1(root, path) : readV2(root, path));
  } catch (thrown) {
    // The process may end while its files are read.
    if (hasCode(thrown, 'ENOENT', 'ENODEV')) return undefined;
    throw thrown;
  }
}

/** Parses `/proc/<pid>/cgroup`; undefined without the memory controller. Pure. */
export function parseProcessCgroup(text: string, version: 1 | 2): string | undefined {
  const lines = text.split('\n').map((line) => line.split(':'));
  const line = lines.find(([id, names = '']) =>
    version === 2 ? id === '0' && names === '' : names.split(',').includes('memory'),
  );
  return line?.slice(2).join(':');
}

/** Undefined if the process has ended. */
export async function cgroupPathOfProcess(pid: number, version: 1 | 2): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  return parseProcessCgroup(text, version);
}
