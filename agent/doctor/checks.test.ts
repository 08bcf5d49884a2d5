import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { checkPrivileges } from './checks/agent.ts';
import { checkDevicePlugins, checkHugePages, checkShutdown } from './checks/devices.ts';
import { checkDisk } from './checks/disk.ts';
import { checkCgroups, checkInotify, checkOverlay, checkSwap, createClockCheck } from './checks/kernel.ts';
import { checkKernelDefaults, checkLimits } from './checks/limits.ts';
import { checkCni, checkRuntime } from './checks/runtime.ts';
import { checkCsiDrivers, checkFlexDrivers, checkVolumes } from './checks/volumes.ts';
import { createChecks, examine } from './checks.ts';
import { type Finding, isSound } from './finding.ts';
import { createMachine, type Machine, type MachineDeps } from './machine.ts';

interface Tree extends TempDir {
  readonly machine: Machine;
}

/** @param files by path; programs are files in the directories of programs */
async function createTree(
  files: Readonly<Record<string, string>> = {},
  deps: Partial<MachineDeps> = {},
): Promise<Tree> {
  const folder = await createTempDir('na-doctor-');
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder.path, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
    if (/^\/(?:s?bin|opt|usr)\//.test(path)) await chmod(target, 0o755);
  }
  const machine = createMachine({
    root: folder.path,
    settings: {
      runtimeEndpoint: '',
      dockerEndpoint: '',
      rootDir: '/var/lib/agent',
      podLogsDir: '/var/log/pods',
      volumePluginDir: '/usr/plugins',
      cgroupDriver: 'systemd',
      cpuManagerPolicy: 'none',
      reservesCpus: false,
      memoryManagerPolicy: 'None',
      topologyManagerPolicy: 'none',
      platconfig: '',
      certDir: '/var/lib/agent/pki',
      gates: new Set(['CSIMigration', 'CSIMigrationAWS']),
    },
    agent: { running: false, version: '', waits: [] },
    uid: 0,
    kernelRelease: '6.1.0',
    readRuntimeInfo: () => Promise.reject(new Error('must not be called')),
    readHardware: () => Promise.resolve({ system: '', memory: [], disks: [] }),
    readDockerFacts: () => Promise.reject(new Error('must not be called')),
    readServerInfo: () => Promise.reject(new Error('must not be called')),
    ...deps,
  });
  return { ...folder, machine, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const short = (findings: readonly Finding[]): readonly string[] =>
  findings.map(({ subject, state, detail }) => `${subject} ${state}: ${detail}`);

type Row = readonly [what: string, files: Readonly<Record<string, string>>, expected: readonly string[]];

describe('checkHugePages', () => {
  const PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages';
  test.each<Row>([
    ['a kernel without', {}, ['huge pages ok: the kernel has none']],
    ['none set aside', { [PAGES]: '0\n' }, ['huge pages ok: 0 of 2Mi']],
    [
      'pages that can be limited',
      { [PAGES]: '8\n', '/sys/fs/cgroup/cgroup.controllers': 'cpu hugetlb' },
      ['huge pages ok: 8 of 2Mi'],
    ],
    [
      'pages that anybody may take',
      { [PAGES]: '8\n', '/sys/fs/cgroup/cgroup.controllers': 'cpu' },
      ['huge pages limited: 8 of 2Mi'],
    ],
  ])('knows %s', async (_, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await checkHugePages(tree.machine))).toEqual(expected);
  });
});

describe('checkDevicePlugins', () => {
  const FOLDER = '/var/lib/agent/device-plugins';
  test.each<Row>([
    ['none yet', {}, [`device plugins ok: none yet; device plugins register in ${FOLDER}`]],
    [
      'their sockets',
      { [`${FOLDER}/gpu.sock`]: '', [`${FOLDER}/checkpoint`]: '' },
      [`device plugins ok: sockets in ${FOLDER}: gpu.sock`],
    ],
  ])('names %s', async (_, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await checkDevicePlugins(tree.machine))).toEqual(expected);
  });
});

describe('checkShutdown', () => {
  const BUS = '/run/dbus/system_bus_socket';
  test.each<Row>([
    ['there is no bus', {}, [`shutdown limited: no D-Bus socket at ${BUS}`]],
    ['nothing can hold the lock', { [BUS]: '' }, ['shutdown limited: no program systemd-inhibit']],
    [
      'all is there',
      { [BUS]: '', '/usr/bin/systemd-inhibit': '' },
      ['shutdown ok: can be delayed for pods with shutdownGracePeriod'],
    ],
  ])('reports %s', async (_, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await checkShutdown(tree.machine))).toEqual(expected);
  });
});

describe('checkPrivileges', () => {
  test.each<Row>([
    [
      'all',
      { '/proc/self/status': 'CapEff:\t000001ffffffffff\n' },
      ['privileges ok: root, with all required capabilities'],
    ],
    [
      'one less',
      { '/proc/self/status': 'CapEff:\t000001fffeffffff\n' },
      [
        'privileges limited: root without CAP_SYS_RESOURCE, which is required for setting lower OOM scores and raising its own limits',
      ],
    ],
    [
      'no mounts',
      { '/proc/self/status': 'CapEff:\t000001ffffdfffff\n' },
      ['privileges broken: root without CAP_SYS_ADMIN, which is required for mounting volumes'],
    ],
  ])('reports %s', async (_, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await checkPrivileges(tree.machine))).toEqual(expected);
  });

  test('reports another user', async () => {
    await using tree = await createTree({}, { uid: 1000 });
    expect(short(await checkPrivileges(tree.machine))).toEqual([
      'privileges limited: this is user 1000, not root',
    ]);
  });
});

describe('checkRuntime', () => {
  const responding = (status: boolean) => ({
    readRuntimeInfo: (endpoint: string) =>
      Promise.resolve({
        name: 'containerd',
        version: endpoint.length.toString(),
        conditions: [{ type: 'NetworkReady', status, message: 'no cni' }],
      }),
  });

  test('names sandboxes that only people can remove, with the command', async () => {
    const homeless = [
      { id: 'abc', pod: 'default/web', instance: 'i-old' },
      { id: 'def', pod: 'default/own', instance: 'i-new' },
    ];
    const readRuntimeInfo = () => Promise.resolve({ name: 'r', version: '1', conditions: [], homeless });
    const files = { '/run/crio/crio.sock': '', '/var/lib/agent/instance': 'i-new\n' };
    await using tree = await createTree(files, { readRuntimeInfo });
    const [, found, ...rest] = await checkRuntime(tree.machine);
    expect([found?.state, found?.detail, rest]).toEqual([
      'limited',
      'sandbox abc of pod default/web was made by an earlier release, for another root directory',
      [],
    ]);
    expect(found?.advice).toContain(
      'crictl --runtime-endpoint unix:///run/crio/crio.sock stopp abc && crictl --runtime-endpoint unix:///run/crio/crio.sock rmp abc',
    );
  });

  test('names the detected runtime, and what it lacks', async () => {
    const files = { '/run/crio/crio.sock': '' };
    await using tree = await createTree(files, responding(false));
    expect(short(await checkRuntime(tree.machine))).toEqual([
      'endpoint ok: unix:///run/crio/crio.sock: containerd 26',
      'NetworkReady limited: no: no cni',
    ]);
  });

  test.each<[string, Partial<MachineDeps['settings']>, string]>([
    ['none is there', {}, 'no container runtime was found'],
    [
      'the configured one is away',
      { runtimeEndpoint: 'unix:///run/x.sock' },
      'unix:///run/x.sock: the socket does not exist',
    ],
  ])('is broken when %s', async (_, settings, detail) => {
    await using tree = await createTree();
    const machine = { ...tree.machine, settings: { ...tree.machine.settings, ...settings } };
    const [finding] = await checkRuntime(machine);
    expect(finding?.state).toBe('broken');
    expect(finding?.detail).toContain(detail);
  });
});

describe('checkCni', () => {
  test.each<Row>([
    ['nothing', {}, ['CNI limited: no plugins in /opt/cni/bin or /usr/lib/cni']],
    [
      'plugins and a configuration',
      { '/opt/cni/bin/bridge': '', '/etc/cni/net.d/10-a.conflist': '', '/etc/cni/net.d/README': '' },
      ['CNI ok: 1 plugins in /opt/cni/bin, /etc/cni/net.d/10-a.conflist'],
    ],
  ])('reports %s', async (_, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await checkCni(tree.machine))).toEqual(expected);
  });
});

describe('the kernel', () => {
  test.each<readonly [string, (machine: Machine) => Promise<readonly Finding[]>, ...Row]>([
    [
      'cgroups',
      checkCgroups,
      'v2',
      { '/sys/fs/cgroup/cgroup.controllers': 'cpuset cpu io memory pids\n' },
      ['cgroups ok: v2, driver systemd'],
    ],
    [
      'cgroups',
      checkCgroups,
      'v1 without pids',
      { '/sys/fs/cgroup/cpu/x': '', '/sys/fs/cgroup/memory/x': '' },
      ['cgroups limited: v1, driver systemd, without pids'],
    ],
    ['cgroups', checkCgroups, 'none', {}, ['cgroups broken: none at /sys/fs/cgroup']],
    [
      'limits',
      checkLimits,
      'v1 that can’t be written',
      {
        '/proc/self/mountinfo':
          '1 2 0:3 / /sys/fs/cgroup/memory ro shared:1 - cgroup cgroup rw,memory\n1 2 0:3 / /d rw - ext4 d ro\n',
        '/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes': '',
        '/sys/fs/cgroup/hugetlb/x': '',
        '/dev/kmsg': '',
      },
      [
        'limits limited: read-only: /sys/fs/cgroup/memory',
        'limits ok: all except guaranteed memory (MemoryQoS requires cgroup v2)',
      ],
    ],
    [
      'limits',
      checkLimits,
      'v2 with everything',
      {
        '/proc/self/mountinfo': '1 2 0:3 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw\n',
        '/sys/fs/cgroup/cgroup.controllers': 'cpu memory pids hugetlb\n',
        '/dev/kmsg': '',
      },
      ['limits ok: all'],
    ],
    [
      'parameters of the kernel',
      checkKernelDefaults,
      'one that differs',
      { '/proc/sys/kernel/panic': '0\n' },
      ['kernel parameters ok: differ: kernel.panic=0'],
    ],
    ['swap', checkSwap, 'off', { '/proc/swaps': 'Filename\tType\n' }, ['swap ok: off']],
    [
      'swap',
      checkSwap,
      'on',
      { '/proc/swaps': 'Filename\tType\n/dev/sda2 partition\n' },
      ['swap limited: enabled: /dev/sda2'],
    ],
    ['overlay', checkOverlay, 'none', {}, ['overlay limited: not supported by the kernel']],
    [
      'overlay',
      checkOverlay,
      'a module',
      { '/lib/modules/6.1.0/modules.dep': 'kernel/fs/overlayfs/overlay.ko.xz:\n' },
      ['overlay ok: loadable'],
    ],
    [
      'overlay',
      checkOverlay,
      'a module of another kernel',
      { '/lib/modules/5.0.0/modules.dep': 'kernel/fs/overlayfs/overlay.ko:\n' },
      ['overlay limited: not supported by the kernel'],
    ],
    [
      'inotify',
      checkInotify,
      'enough',
      {
        '/proc/sys/fs/inotify/max_user_instances': '128\n',
        '/proc/sys/fs/inotify/max_user_watches': '9000\n',
      },
      ['inotify ok: max_user_instances 128, max_user_watches 9000'],
    ],
    [
      'inotify',
      checkInotify,
      'few',
      {
        '/proc/sys/fs/inotify/max_user_instances': '12\n',
        '/proc/sys/fs/inotify/max_user_watches': '9000\n',
      },
      ['inotify limited: max_user_instances 12, max_user_watches 9000'],
    ],
  ])('%s, %s %s', async (_, check, __, files, expected) => {
    await using tree = await createTree(files);
    expect(short(await check(tree.machine))).toEqual(expected);
  });

  test('reports a clock that was never set', async () => {
    await using tree = await createTree();
    expect((await createClockCheck(() => 0)(tree.machine))[0]?.state).toBe('limited');
    expect((await createClockCheck(() => Date.UTC(2030, 1))(tree.machine))[0]?.state).toBe('ok');
  });
});

describe('checkDisk', () => {
  test.each([
    ['ok', 50, 'ok'],
    ['limited', 5, 'limited'],
    ['broken', 0, 'broken'],
  ])('is %s with %i %% free', async (_, percent, state) => {
    await using tree = await createTree();
    const totalBytes = 100 * 1024 ** 3;
    const space = { freeBytes: (totalBytes * percent) / 100, totalBytes, freeInodes: 0, totalInodes: 0 };
    const found = await checkDisk({ ...tree.machine, space: () => Promise.resolve(space) });
    expect(found.map((finding) => finding.state)).toEqual([state, state]);
  });
});

describe('volumes', () => {
  const of = async (tree: Tree, source: string): Promise<string | undefined> =>
    short(await checkVolumes(tree.machine)).find((line) => line.startsWith(`${source} `));

  test('reports the requirements of each source, with the package', async () => {
    await using tree = await createTree({ '/proc/filesystems': 'nodev\ttmpfs\n' });
    expect(await of(tree, 'nfs')).toBe(
      'nfs limited: requires the program mount.nfs, the file system nfs in the kernel',
    );
    expect(await of(tree, 'emptyDir')).toBe('emptyDir ok: supported');
    const nfs = (await checkVolumes(tree.machine)).find(({ subject }) => subject === 'nfs');
    expect(nfs?.advice).toBe('install the Debian package nfs-common');
  });

  test('reports the CSI drivers of cloud disks, as the gates behave', async () => {
    await using tree = await createTree({ '/var/lib/agent/plugins_registry/ebs.csi.aws.com-reg.sock': '' });
    expect(await of(tree, 'cinder')).toBe(
      'cinder limited: requires the CSI driver cinder.csi.openstack.org, which has no socket in /var/lib/agent/plugins_registry',
    );
    expect(await of(tree, 'awsElasticBlockStore')).toBe(
      'awsElasticBlockStore ok: handled by the CSI driver ebs.csi.aws.com',
    );
    // Its gate is off.
    expect(await of(tree, 'vsphereVolume')).toBe('vsphereVolume ok: supported');
    const settings = { ...tree.machine.settings, gates: new Set(['CSIMigrationAWS']) };
    const found = short(await checkVolumes({ ...tree.machine, settings }));
    expect(found).toContain('cinder ok: supported');
    const cinder = (await checkVolumes(tree.machine)).find(({ subject }) => subject === 'cinder');
    expect(cinder?.advice).toBe(
      'run the driver on this node; it attaches disks, which requires an API server',
    );
  });

  test('finds programs and modules', async () => {
    await using tree = await createTree({
      '/proc/filesystems': 'nodev\ttmpfs\n',
      '/sbin/mount.nfs': '',
      '/lib/modules/6.1.0/modules.dep': 'kernel/fs/nfs/nfs.ko: kernel/net/sunrpc.ko\n',
    });
    expect(await of(tree, 'nfs')).toBe('nfs ok: has mount.nfs, nfs (loadable)');
  });

  test('ignores modules on a kernel that loads none', async () => {
    await using tree = await createTree({
      '/sbin/mount.nfs': '',
      '/proc/sys/kernel/modules_disabled': '1\n',
      '/lib/modules/6.1.0/modules.dep': 'kernel/fs/nfs/nfs.ko:\n',
    });
    expect(await of(tree, 'nfs')).toBe('nfs limited: requires the file system nfs in the kernel');
  });

  test('finds installed drivers', async () => {
    await using tree = await createTree({
      '/usr/plugins/acme~files/files': '',
      '/usr/plugins/acme~broken/readme': '',
      '/usr/plugins/.tmp~x/x': '',
      '/var/lib/agent/plugins_registry/disks-reg.sock': '',
    });
    expect(short(await checkFlexDrivers(tree.machine))).toEqual([
      'flex driver broken: acme/broken has no executable in its directory',
      'flex driver ok: acme/files',
    ]);
    expect(short(await checkCsiDrivers(tree.machine))).toEqual([
      'CSI driver ok: /var/lib/agent/plugins_registry/disks-reg.sock',
    ]);
  });
});

describe('examine', () => {
  test('continues when a check fails, and counts only broken findings', async () => {
    await using tree = await createTree();
    const found = await examine(tree.machine, [() => Promise.reject(new Error('oh')), checkSwap]);
    expect(short(found)).toEqual(['doctor limited: oh', 'swap ok: off']);
    expect(isSound(found)).toBe(true);
    expect(
      isSound(
        await examine(
          tree.machine,
          createChecks(() => 0),
        ),
      ),
    ).toBe(false);
  });
});
