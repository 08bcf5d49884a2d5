import { describe, expect, test } from 'vitest';
import { createCgroups } from './cgroups.ts';
import { parseHierarchies, placeOf } from './places.ts';
import { readProcesses, readUsage } from './usage.ts';

const V1 = `31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:3 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/x /sys/fs/cgroup/mem\\040ory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`;
const V2 = '30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n';

describe('placeOf', () => {
  test('finds v1 hierarchies, wherever and in whatever part they are mounted', () => {
    const text = '4:memory:/docker/x/pod/c1\n2:cpu,cpuacct:/pod/c1\n1:name=systemd:/pod/c1\n0::/elsewhere\n';
    expect(placeOf(parseHierarchies(V1), text)).toEqual({
      version: 1,
      path: '/docker/x/pod/c1',
      folders: {
        cpu: '/sys/fs/cgroup/cpu,cpuacct/pod/c1',
        cpuacct: '/sys/fs/cgroup/cpu,cpuacct/pod/c1',
        memory: '/sys/fs/cgroup/mem ory/pod/c1',
      },
    });
  });

  test('finds v2', () => {
    expect(placeOf(parseHierarchies(V2), '0::/a.slice/c1.scope\n')).toEqual({
      version: 2,
      path: '/a.slice/c1.scope',
      folder: '/sys/fs/cgroup/a.slice/c1.scope',
    });
  });

  test('is undefined for unmounted paths', () => {
    expect(placeOf(parseHierarchies(''), '0::/a\n')).toBeUndefined();
  });
});

const filesOf = (files: Readonly<Record<string, string>>) => (path: string) => {
  const text = files[path];
  return text === undefined ? Promise.reject(new Error(`no ${path}`)) : Promise.resolve(text);
};

describe('readUsage', () => {
  test('reads v1', async () => {
    const place = {
      version: 1,
      path: '/c',
      folders: { cpu: '/cpu', cpuacct: '/cpu', memory: '/mem', blkio: '/blk', pids: '/pids' },
    } as const;
    const files = {
      '/cpu/cpuacct.usage': '5000000000\n',
      '/cpu/cpuacct.stat': 'user 300\nsystem 200\n',
      '/cpu/cpu.stat': 'nr_periods 10\nnr_throttled 4\nthrottled_time 12345\n',
      '/cpu/cpu.shares': '512\n',
      '/cpu/cpu.cfs_quota_us': '-1\n',
      '/cpu/cpu.cfs_period_us': '100000\n',
      '/mem/memory.usage_in_bytes': '1000\n',
      '/mem/memory.stat':
        'cache 1\ntotal_cache 300\ntotal_rss 600\ntotal_swap 5\ntotal_mapped_file 7\ntotal_inactive_file 200\ntotal_pgfault 8\ntotal_pgmajfault 2\n',
      '/mem/memory.limit_in_bytes': '9223372036854771712\n',
      '/mem/memory.max_usage_in_bytes': '1500\n',
      '/mem/memory.failcnt': '3\n',
      '/mem/memory.oom_control': 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
      '/blk/blkio.throttle.io_service_bytes_recursive':
        '8:0 Read 10\n8:0 Write 20\n8:0 Sync 30\n8:0 Total 30\nTotal 30\n',
      '/blk/blkio.throttle.io_serviced_recursive': '8:0 Read 1\n8:0 Write 2\nTotal 3\n',
      '/pids/pids.current': '6\n',
    };
    expect(await readUsage(place, filesOf(files))).toEqual({
      cpu: {
        usageNs: 5_000_000_000,
        userNs: 3_000_000_000,
        systemNs: 2_000_000_000,
        periods: 10,
        throttledPeriods: 4,
        throttledNs: 12_345,
        shares: 512,
        periodUs: 100_000,
      },
      memory: {
        usageBytes: 1000,
        workingSetBytes: 800,
        rssBytes: 600,
        cacheBytes: 300,
        swapBytes: 5,
        mappedBytes: 7,
        maxUsageBytes: 1500,
        limitHits: 3,
        oomKills: 1,
        pageFaults: 8,
        majorPageFaults: 2,
      },
      io: [{ device: '8:0', readBytes: 10, writeBytes: 20, reads: 1, writes: 2 }],
      processes: 6,
    });
    expect(await readProcesses(place, filesOf(files))).toBe(6);
  });

  test('reads v2', async () => {
    const files = {
      '/c/cpu.stat':
        'usage_usec 5000\nuser_usec 3000\nsystem_usec 2000\nnr_periods 1\nnr_throttled 0\nthrottled_usec 9\n',
      '/c/cpu.weight': '100\n',
      '/c/cpu.max': '50000 100000\n',
      '/c/memory.current': '1000\n',
      '/c/memory.stat': 'anon 600\nfile 300\ninactive_file 200\nfile_mapped 7\npgfault 8\npgmajfault 2\n',
      '/c/memory.max': 'max\n',
      '/c/memory.events': 'low 0\nmax 3\noom 1\noom_kill 1\n',
      '/c/io.stat': '8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n',
      '/c/pids.current': '6\n',
    };
    expect(await readUsage({ version: 2, path: '/c', folder: '/c' }, filesOf(files))).toEqual({
      cpu: {
        usageNs: 5_000_000,
        userNs: 3_000_000,
        systemNs: 2_000_000,
        periods: 1,
        throttledPeriods: 0,
        throttledNs: 9000,
        shares: 2597,
        quotaUs: 50_000,
        periodUs: 100_000,
      },
      memory: {
        usageBytes: 1000,
        workingSetBytes: 800,
        rssBytes: 600,
        cacheBytes: 300,
        mappedBytes: 7,
        limitHits: 3,
        oomKills: 1,
        pageFaults: 8,
        majorPageFaults: 2,
      },
      io: [{ device: '8:0', readBytes: 10, writeBytes: 20, reads: 1, writes: 2 }],
      processes: 6,
    });
  });

  test('omits missing files', async () => {
    expect(await readUsage({ version: 1, path: '/c', folders: {} }, filesOf({}))).toEqual({
      cpu: {},
      memory: {},
      io: [],
    });
  });
});

describe('createCgroups', () => {
  test('looks up a container once, and detects a reused PID', async () => {
    const asked: string[] = [];
    const files: Record<string, string> = {
      '/proc/self/mountinfo': V2,
      '/proc/7/cgroup': '0::/pods/c1\n',
      '/proc/8/cgroup': '0::/user.slice\n',
    };
    const cgroups = createCgroups({
      processes: { ofContainer: (id) => Promise.resolve(id === 'c1' ? 7 : 8) },
      readProc(path) {
        asked.push(path);
        return filesOf(files)(path);
      },
    });
    const place = { version: 2, path: '/pods/c1', folder: '/sys/fs/cgroup/pods/c1' };
    expect(await cgroups.ofContainer('c1')).toEqual(place);
    expect(await cgroups.ofContainer('c1')).toEqual(place);
    expect(await cgroups.ofContainer('c2')).toBeUndefined();
    expect(asked).toEqual(['/proc/7/cgroup', '/proc/self/mountinfo', '/proc/8/cgroup']);
    expect(await cgroups.at('/x')).toEqual({ version: 2, path: '/x', folder: '/sys/fs/cgroup/x' });
  });
});
