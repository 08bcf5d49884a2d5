import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { SIGNALS, type Signal } from '../signals.ts';
import { createFileSystems, type Space } from './file-systems.ts';
import { findMemoryHierarchy } from './memory.ts';
import { createSignalObserver } from './observer.ts';
import { processNumbers } from './processes.ts';

const V1 = '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory';
const V2 = '31 25 0:28 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw';
const MEMINFO = 'MemTotal:  1000 kB\nMemFree:  400 kB\nInactive(file):  100 kB\nActive(file): 1 kB\n';
const KIB = 1024;

describe('findMemoryHierarchy', () => {
  test.each([
    ['v1 beside v2', `${V2}\n${V1}`, { version: 1, mountPoint: '/sys/fs/cgroup/memory' }],
    ['v2 alone', V2, { version: 2, mountPoint: '/sys/fs/cgroup/uni fied' }],
    ['neither', '1 2 3 / / rw - ext4 /dev/vda rw', undefined],
  ])('%s', (_, mountinfo, expected) => expect(findMemoryHierarchy(mountinfo)).toEqual(expected));
});

test.each([
  ['32768\n', '9000\n', '0.5 0.4 0.3 2/300 77\n', { capacity: 9000, available: 8700 }],
  ['100', '9000', '0 0 0 2/300 77', { capacity: 100, available: 0 }],
  ['100', '9000', 'nothing', undefined],
])('processNumbers %j %j %j', (pidMax, threadsMax, loadavg, expected) =>
  expect(processNumbers(pidMax, threadsMax, loadavg)).toEqual(expected),
);

const space = (capacityBytes: number, availableBytes: number, inodes = 10): Space => ({
  capacityBytes,
  availableBytes,
  inodes,
  inodesFree: 3,
});

function setup(files: Readonly<Record<string, string>>, signals: readonly Signal[] = SIGNALS) {
  const clock = createFakeClock();
  const warned: object[] = [];
  const asked: string[] = [];
  const spaces: Record<string, Space> = {
    '/root': space(100, 40),
    '/img': space(200, 60, 0),
    '/more': space(100, 20),
  };
  const fileSystems = createFileSystems(
    {
      clock,
      spaceOf: async (path) => {
        asked.push(path);
        const found = spaces[path];
        if (found === undefined) throw new Error(`no ${path}`);
        return found;
      },
      deviceOf: async (path) => (path === '/root' ? 1 : 2),
      imageFolders: async () => ['/img', '/more', ''],
    },
    { rootDir: '/root' },
  );
  const observer = createSignalObserver(
    {
      clock,
      log: { ...silentLogger, warn: (fields) => void warned.push(fields) },
      readText: async (path) => {
        const text = files[path];
        if (text === undefined) throw new Error(`no ${path}`);
        return text;
      },
      fileSystems,
      podsCgroup: () => '/pods',
    },
    new Set(signals),
  );
  const reading = async (): Promise<Record<string, readonly number[]>> => {
    const seen = await observer.observe(new AbortController().signal);
    return Object.fromEntries(
      [...seen].map(([name, { available, capacity }]) => [name, [available, capacity]]),
    );
  };
  return { reading, observer, warned, asked, fileSystems, spaces };
}

const PROC = {
  '/proc/meminfo': MEMINFO,
  '/proc/sys/kernel/pid_max': '100',
  '/proc/sys/kernel/threads-max': '200',
  '/proc/loadavg': '0 0 0 1/30 5',
};

describe('createSignalObserver', () => {
  test('on cgroup v1 measures all signals', async () => {
    const at = (folder: string, usage: number, limit: string) => ({
      [`/sys/fs/cgroup/memory${folder}/memory.usage_in_bytes`]: `${usage}\n`,
      [`/sys/fs/cgroup/memory${folder}/memory.limit_in_bytes`]: `${limit}\n`,
      [`/sys/fs/cgroup/memory${folder}/memory.stat`]: 'inactive_file 7\ntotal_inactive_file 1024\n',
    });
    const files = {
      ...PROC,
      '/proc/self/mountinfo': V1,
      ...at('', 501 * KIB, '9223372036854771712'),
      ...at('/pods', 11 * KIB, '20480'),
    };
    const { reading, observer, warned, fileSystems } = setup(files);
    expect(await reading()).toEqual({
      'memory.available': [500 * KIB, 1000 * KIB],
      'allocatableMemory.available': [10 * KIB, 20 * KIB],
      'nodefs.available': [40, 100],
      'nodefs.inodesFree': [3, 10],
      'imagefs.available': [20, 100],
      'imagefs.inodesFree': [3, 10],
      'pid.available': [70, 100],
    });
    expect(warned).toEqual([]);
    expect(fileSystems.imagesApart()).toBe(true);
    expect(new Set(observer.memoryReadings().keys())).toEqual(
      new Set(['memory.available', 'allocatableMemory.available']),
    );
  });

  test('on cgroup v2 measures the machine from /proc, and pods without a limit', async () => {
    const folder = '/sys/fs/cgroup/uni fied/pods';
    const files = {
      ...PROC,
      '/proc/self/mountinfo': V2,
      [`${folder}/memory.current`]: '10',
      [`${folder}/memory.max`]: 'max\n',
      [`${folder}/memory.stat`]: 'inactive_file 1\n',
    };
    const { reading } = setup(files, ['memory.available', 'allocatableMemory.available']);
    expect(await reading()).toEqual({ 'memory.available': [500 * KIB, 1000 * KIB] });
  });

  test('measures no signal without a threshold', async () => {
    const { reading, asked } = setup(PROC, ['pid.available']);
    expect(await reading()).toEqual({ 'pid.available': [70, 100] });
    expect(asked).toEqual([]);
  });

  test('omits unmeasurable signals, and logs that once', async () => {
    const { reading, warned, spaces } = setup(PROC, ['nodefs.available', 'pid.available']);
    delete spaces['/root'];
    expect(await reading()).toEqual({ 'pid.available': [70, 100] });
    await reading();
    expect(warned).toHaveLength(1);
  });
});
