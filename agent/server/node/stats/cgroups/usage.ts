/** Usage and limits of a cgroup, in one form for cgroup v1 and v2.
 *  @see the kernel's cgroup-v1 and cgroup-v2 documents */
import type { CgroupPlace, Kind } from './places.ts';

export interface DeviceIo {
  /** `<major>:<minor>` */
  readonly device: string;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly reads: number;
  readonly writes: number;
}

/** Unknown values and missing limits are undefined. */
export interface CgroupUsage {
  readonly cpu: {
    readonly usageNs?: number;
    readonly userNs?: number;
    readonly systemNs?: number;
    readonly periods?: number;
    readonly throttledPeriods?: number;
    readonly throttledNs?: number;
    readonly shares?: number;
    readonly quotaUs?: number;
    readonly periodUs?: number;
  };
  readonly memory: {
    readonly usageBytes?: number;
    readonly workingSetBytes?: number;
    readonly rssBytes?: number;
    readonly cacheBytes?: number;
    readonly swapBytes?: number;
    readonly mappedBytes?: number;
    readonly maxUsageBytes?: number;
    readonly limitBytes?: number;
    readonly limitHits?: number;
    readonly oomKills?: number;
    readonly pageFaults?: number;
    readonly majorPageFaults?: number;
  };
  readonly io: readonly DeviceIo[];
  readonly processes?: number;
}

/** Returns the text of a file; rejects if it does not exist. */
export type ReadFile = (path: string) => Promise<string>;

const NS_PER_US = 1000;
const NS_PER_TICK = 10_000_000;
/** v1 represents no limit as a number near the maximum. */
const NO_LIMIT = 2 ** 60;

type Values = ReadonlyMap<string, number>;

/** Parses lines of a name and a number. */
function parseFlat(text: string): Values {
  return new Map(
    text.split('\n').flatMap((line): readonly [string, number][] => {
      const [name = '', number = ''] = line.split(' ');
      return number === '' ? [] : [[name, Number(number)]];
    }),
  );
}

const times = (value: number | undefined, factor: number): number | undefined =>
  value === undefined ? undefined : value * factor;

function numberIn(text: string | undefined): number | undefined {
  const word = text?.trim();
  return word === undefined || !/^-?\d+$/.test(word) ? undefined : Number(word);
}

const limitIn = (text: string | undefined): number | undefined => {
  const limit = numberIn(text);
  return limit === undefined || limit >= NO_LIMIT || limit < 0 ? undefined : limit;
};

/** Removes members with unknown values. */
function given<T extends object>(values: { readonly [K in keyof T]: T[K] | undefined }): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is left out is optional in every T here
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}

const workingSet = (usage: number | undefined, inactive: number | undefined): number | undefined =>
  usage === undefined ? undefined : Math.max(0, usage - (inactive ?? 0));

/** Parses `blkio.throttle.io_service_bytes` and `…io_serviced`. */
function parseBlkio(bytes: string, operations: string): readonly DeviceIo[] {
  const read = (text: string): Values =>
    new Map(
      [...text.matchAll(/^(\d+:\d+) (Read|Write) (\d+)$/gm)].map(([, device, what, count]) => [
        `${device} ${what}`,
        Number(count),
      ]),
    );
  const [amounts, counts] = [read(bytes), read(operations)];
  const devices = new Set([...amounts.keys()].map((key) => key.split(' ')[0] ?? ''));
  return [...devices].map((device) => ({
    device,
    readBytes: amounts.get(`${device} Read`) ?? 0,
    writeBytes: amounts.get(`${device} Write`) ?? 0,
    reads: counts.get(`${device} Read`) ?? 0,
    writes: counts.get(`${device} Write`) ?? 0,
  }));
}

/** Parses `io.stat`. */
function parseIoStat(text: string): readonly DeviceIo[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    if (!/^\d+:\d+$/.test(device)) return [];
    const values = new Map(
      pairs.map((pair): [string, number] => [pair.split('=')[0] ?? '', Number(pair.split('=')[1])]),
    );
    const of = (name: string): number => values.get(name) ?? 0;
    return [
      { device, readBytes: of('rbytes'), writeBytes: of('wbytes'), reads: of('rios'), writes: of('wios') },
    ];
  });
}

type Texts = (
  folder: string | undefined,
  ...names: readonly string[]
) => Promise<readonly (string | undefined)[]>;

const reading =
  (readFile: ReadFile): Texts =>
  (folder, ...names) =>
    folder === undefined
      ? Promise.resolve([])
      : Promise.all(names.map((name) => readFile(`${folder}/${name}`).catch(() => undefined)));

const MEMORY_V1 = [
  'memory.usage_in_bytes',
  'memory.stat',
  'memory.max_usage_in_bytes',
  'memory.limit_in_bytes',
  'memory.failcnt',
  'memory.oom_control',
];
const BLKIO_V1 = [
  'blkio.throttle.io_service_bytes_recursive',
  'blkio.throttle.io_serviced_recursive',
  'blkio.throttle.io_service_bytes',
  'blkio.throttle.io_serviced',
];
const FILES_V2 = [
  'cpu.stat',
  'cpu.weight',
  'cpu.max',
  'memory.current',
  'memory.stat',
  'memory.peak',
  'memory.max',
  'memory.events',
  'memory.swap.current',
  'io.stat',
  'pids.current',
];

async function readV1(folders: Readonly<Partial<Record<Kind, string>>>, texts: Texts): Promise<CgroupUsage> {
  const [cpu, cpuacct, memory, blkio, pids] = await Promise.all([
    texts(folders.cpu, 'cpu.stat', 'cpu.shares', 'cpu.cfs_quota_us', 'cpu.cfs_period_us'),
    texts(folders.cpuacct, 'cpuacct.usage', 'cpuacct.stat'),
    texts(folders.memory, ...MEMORY_V1),
    texts(folders.blkio, ...BLKIO_V1),
    texts(folders.pids, 'pids.current'),
  ]);
  const [throttling, ticks, stat, oom] = [cpu[0], cpuacct[1], memory[1], memory[5]].map((text) =>
    parseFlat(text ?? ''),
  );
  const usageBytes = numberIn(memory[0]);
  const processes = numberIn(pids[0]);
  return {
    cpu: given({
      usageNs: numberIn(cpuacct[0]),
      userNs: times(ticks?.get('user'), NS_PER_TICK),
      systemNs: times(ticks?.get('system'), NS_PER_TICK),
      periods: throttling?.get('nr_periods'),
      throttledPeriods: throttling?.get('nr_throttled'),
      throttledNs: throttling?.get('throttled_time'),
      shares: numberIn(cpu[1]),
      quotaUs: limitIn(cpu[2]),
      periodUs: numberIn(cpu[3]),
    }),
    memory: given({
      usageBytes,
      workingSetBytes: workingSet(usageBytes, stat?.get('total_inactive_file')),
      rssBytes: stat?.get('total_rss'),
      cacheBytes: stat?.get('total_cache'),
      swapBytes: stat?.get('total_swap'),
      mappedBytes: stat?.get('total_mapped_file'),
      maxUsageBytes: numberIn(memory[2]),
      limitBytes: limitIn(memory[3]),
      limitHits: numberIn(memory[4]),
      oomKills: oom?.get('oom_kill'),
      pageFaults: stat?.get('total_pgfault'),
      majorPageFaults: stat?.get('total_pgmajfault'),
    }),
    io: parseBlkio(blkio[0] ?? blkio[2] ?? '', blkio[1] ?? blkio[3] ?? ''),
    ...(processes === undefined ? {} : { processes }),
  };
}

/** Converts a weight to shares, with the conversion that runtimes use. */
const sharesOf = (weight: number | undefined): number | undefined =>
  weight === undefined ? undefined : Math.round(2 + ((weight - 1) * 262_142) / 9999);

async function readV2(folder: string, texts: Texts): Promise<CgroupUsage> {
  const [cpuStat, weight, cpuMax, current, memoryStat, peak, max, events, swap, io, pids] = await texts(
    folder,
    ...FILES_V2,
  );
  const [cpu, stat, event] = [cpuStat, memoryStat, events].map((text) => parseFlat(text ?? ''));
  const [quota, period] = cpuMax?.trim().split(' ') ?? [];
  const usageBytes = numberIn(current);
  const processes = numberIn(pids);
  return {
    cpu: given({
      usageNs: times(cpu?.get('usage_usec'), NS_PER_US),
      userNs: times(cpu?.get('user_usec'), NS_PER_US),
      systemNs: times(cpu?.get('system_usec'), NS_PER_US),
      periods: cpu?.get('nr_periods'),
      throttledPeriods: cpu?.get('nr_throttled'),
      throttledNs: times(cpu?.get('throttled_usec'), NS_PER_US),
      shares: sharesOf(numberIn(weight)),
      quotaUs: numberIn(quota),
      periodUs: numberIn(period),
    }),
    memory: given({
      usageBytes,
      workingSetBytes: workingSet(usageBytes, stat?.get('inactive_file')),
      rssBytes: stat?.get('anon'),
      cacheBytes: stat?.get('file'),
      swapBytes: numberIn(swap),
      mappedBytes: stat?.get('file_mapped'),
      maxUsageBytes: numberIn(peak),
      limitBytes: limitIn(max),
      limitHits: event?.get('max'),
      oomKills: event?.get('oom_kill'),
      pageFaults: stat?.get('pgfault'),
      majorPageFaults: stat?.get('pgmajfault'),
    }),
    io: parseIoStat(io ?? ''),
    ...(processes === undefined ? {} : { processes }),
  };
}

/** Omits statistics whose files do not exist. */
export function readUsage(place: CgroupPlace, readFile: ReadFile): Promise<CgroupUsage> {
  const texts = reading(readFile);
  return place.version === 1 ? readV1(place.folders, texts) : readV2(place.folder, texts);
}

/** Reads only the number of processes, which is cheaper. */
export async function readProcesses(place: CgroupPlace, readFile: ReadFile): Promise<number | undefined> {
  const folder = place.version === 1 ? place.folders.pids : place.folder;
  const [text] = await reading(readFile)(folder, 'pids.current');
  return numberIn(text);
}
