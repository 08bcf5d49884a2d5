/** Disk of the VM: the system of the other end-to-end tests with a kernel and with servers of network
 *  storage. Built once and cached in .cache/; every VM writes to its own overlay. */
import { execFile } from 'node:child_process';
import { chmod, copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installPaths } from '#agent/install/paths.ts';
import { renderContainerdConfig } from '#agent/runtime/managed/config.ts';
import { PAUSE_IMAGE } from '#agent/runtime/managed/local-images.ts';
import { cachedFolder } from '../cache.ts';
import { cachedRootfs } from '../rootfs.ts';
import { writeInitrd } from './initrd.ts';
import { configureStorageServers } from './storage-servers.ts';

const run = promisify(execFile);
const GUEST = join(import.meta.dirname, 'guest');
/** The kernel without drivers of real hardware, which boots faster. */
const PACKAGES: readonly string[] = [
  'linux-image-cloud-amd64',
  'udev',
  'kmod',
  'curl',
  'e2fsprogs',
  'xfsprogs',
  'btrfs-progs',
  'quota',
  'nfs-kernel-server',
  'nfs-common',
  'open-iscsi',
  'multipath-tools',
  'tgt',
  'samba',
  'cifs-utils',
  'keyutils',
];
/** Servers are started by the tests that need them. */
const DISABLED: readonly string[] = [
  'nfs-server.service',
  'nfs-client.target',
  'nfs-blkmap.service',
  'rpcbind.service',
  'rpcbind.socket',
  'nmbd.service',
  'smbd.service',
  'samba-ad-dc.service',
  'tgt.service',
  'open-iscsi.service',
  'multipathd.service',
  'multipathd.socket',
  'systemd-pstore.service',
  'getty@tty1.service',
];
const ENABLED: readonly string[] = ['containerd.service', 'host-commands.service'];
/** Jobs of a machine's first boot, or jobs without use here. */
const MASKED: readonly string[] = [
  'systemd-firstboot.service',
  'systemd-random-seed.service',
  'systemd-update-utmp.service',
  'systemd-update-utmp-runlevel.service',
  'serial-getty@ttyS0.service',
  'e2scrub_reap.service',
  'modprobe@dm_mod.service',
  'modprobe@drm.service',
  'modprobe@efi_pstore.service',
];
/** Modules of CPU features, which take seconds to load under emulation. */
const NEEDLESS_MODULES: readonly string[] = [
  'kvm_amd',
  'kvm_intel',
  'aesni_intel',
  'ghash_clmulni_intel',
  'sha256_ssse3',
  'sha512_ssse3',
  'crct10dif_pclmul',
  'crc32_pclmul',
  'powernow_k8',
  'acpi_cpufreq',
];
const DISK_SIZE = '4G';
/** The disk counts what projects have on it; guest/init mounts it so. */
const PROJECT_QUOTAS = ['-O', 'project,quota', '-E', 'quotatype=prjquota'];
const BUILD_TIMEOUT_MS = 600_000;
const APT_OPTIONS = [
  '-y',
  '--no-install-recommends',
  '-o=Dpkg::Options::=--force-unsafe-io',
  '-o=Dpkg::Options::=--force-confold',
];

export interface VmImage {
  /** Raw disk that must not be written to. */
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** Additions to the disk that most tests use. */
export interface DiskAddition {
  /** Distinguishes the disk's folder in the cache. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Cache key of everything that affects `configure`. */
  readonly recipe: unknown;
  configure(rootfs: string): Promise<void>;
}

const NOTHING: DiskAddition = {
  name: 'vm',
  packages: [],
  recipe: undefined,
  configure: () => Promise.resolve(),
};

/** Builds it first when there is none or the recipe changed. Needs root and a Debian mirror for that. */
export async function cachedVmImage(addition: DiskAddition = NOTHING): Promise<VmImage> {
  const base = await cachedRootfs();
  const guest = await Promise.all((await readdir(GUEST)).map((name) => readFile(join(GUEST, name), 'utf8')));
  const own = await Promise.all(
    ['image.ts', 'initrd.ts', 'storage-servers.ts'].map((name) =>
      readFile(join(import.meta.dirname, name), 'utf8'),
    ),
  );
  const { name, packages, recipe } = addition;
  const folder = await cachedFolder(
    name,
    [base, process.version, own, guest, packages, recipe],
    async (target) => build(base, target, addition),
  );
  return { disk: join(folder, 'disk'), kernel: join(folder, 'kernel'), initrd: join(folder, 'initrd') };
}

async function build(base: string, target: string, addition: DiskAddition): Promise<void> {
  process.stdout.write('building the disk of the VM from a Debian mirror; this is done once\n');
  const rootfs = join(target, 'root');
  await mkdir(target, { recursive: true });
  await run('cp', ['-a', '--reflink=auto', base, rootfs]);
  await installPackages(rootfs, [...PACKAGES, ...addition.packages]);
  await configure(rootfs);
  await addition.configure(rootfs);
  const version = (await readdir(join(rootfs, 'lib/modules')))[0] ?? '';
  await rename(join(rootfs, `boot/vmlinuz-${version}`), join(target, 'kernel'));
  await writeInitrd(rootfs, version, join(target, 'initrd'));
  await run('mkfs.ext4', ['-q', ...PROJECT_QUOTAS, '-d', rootfs, join(target, 'disk'), DISK_SIZE]);
  await rm(rootfs, { recursive: true });
}

async function installPackages(rootfs: string, packages: readonly string[]): Promise<void> {
  const added = ['etc/resolv.conf', 'usr/sbin/policy-rc.d', 'var/lib/apt/lists', 'var/cache/apt/archives'];
  await mkdir(join(rootfs, 'var/lib/apt/lists/partial'), { recursive: true });
  await mkdir(join(rootfs, 'var/cache/apt/archives/partial'), { recursive: true });
  await copyFile('/etc/resolv.conf', join(rootfs, 'etc/resolv.conf'));
  await writeFile(join(rootfs, 'usr/sbin/policy-rc.d'), '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  await mkdir(join(rootfs, 'etc/initramfs-tools'), { recursive: true });
  await writeFile(join(rootfs, 'etc/initramfs-tools/update-initramfs.conf'), 'update_initramfs=no\n');
  // The kernel's package would build an initial RAM disk otherwise.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', INITRD: 'No', LANG: 'C.UTF-8' };
  const options = { timeout: BUILD_TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024, env };
  await run('chroot', [rootfs, 'apt-get', 'update'], options);
  await run('chroot', [rootfs, 'apt-get', 'install', ...APT_OPTIONS, ...packages], options);
  for (const path of added) await rm(join(rootfs, path), { recursive: true, force: true });
}

async function configure(rootfs: string): Promise<void> {
  await copyFile(join(GUEST, 'host-commands.sh'), join(rootfs, 'usr/local/sbin/host-commands'));
  await chmod(join(rootfs, 'usr/local/sbin/host-commands'), 0o755);
  await cp(join(GUEST, 'host-commands.service'), join(rootfs, 'etc/systemd/system/host-commands.service'));
  await run('systemctl', [`--root=${rootfs}`, 'disable', ...DISABLED]);
  await run('systemctl', [`--root=${rootfs}`, 'enable', ...ENABLED]);
  await run('systemctl', [`--root=${rootfs}`, 'mask', ...MASKED]);
  await writeFile(join(rootfs, 'etc/fstab'), '');
  // containerd requires one for every pod.
  await writeFile(join(rootfs, 'etc/resolv.conf'), '');
  await writeFile(
    join(rootfs, 'etc/modprobe.d/vm.conf'),
    NEEDLESS_MODULES.map((module) => `blacklist ${module}\n`),
  );
  await writeFile(join(rootfs, 'etc/hosts'), '127.0.0.1 localhost node1\n');
  await configureContainerd(rootfs);
  await configureStorageServers(rootfs);
  const node = join(installPaths(rootfs).program, 'bin/node');
  await mkdir(join(node, '..'), { recursive: true });
  await copyFile(process.execPath, node);
}

/** One configuration per cgroup driver: the kernel's command line selects the one of this boot. */
async function configureContainerd(rootfs: string): Promise<void> {
  const folder = join(rootfs, 'etc/containerd');
  const dropIns = join(rootfs, 'etc/systemd/system/containerd.service.d');
  for (const path of [folder, dropIns]) await mkdir(path, { recursive: true });
  for (const driver of ['cgroupfs', 'systemd'] as const) {
    await writeFile(join(folder, `${driver}.toml`), containerdConfig(driver === 'systemd'));
  }
  await cp(join(GUEST, 'containerd.conf'), join(dropIns, 'vm.conf'));
}

function containerdConfig(systemdCgroup: boolean): string {
  return renderContainerdConfig({
    dataDir: '/var/lib/containerd',
    runDir: '/run/containerd',
    socketPath: '/run/containerd/containerd.sock',
    sandboxImage: PAUSE_IMAGE,
    runcPath: '/usr/sbin/runc',
    cniBinDir: '/usr/lib/cni',
    cniConfDir: '/etc/cni/net.d',
    restrictOomScoreAdj: false,
    systemdCgroup,
  });
}
