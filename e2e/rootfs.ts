/** Root file system of the end-to-end tests: a minimal Debian with systemd and the dependencies of nodeagent.
 *  Built once by debootstrap and cached in .cache/; every machine gets its own copy. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cachedFolder } from './cache.ts';

const run = promisify(execFile);
const SUITE = 'bookworm';
const PACKAGES: readonly string[] = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'procps',
  'iproute2',
  'iptables',
  'containerd',
  'runc',
  'containernetworking-plugins',
  'busybox-static',
  'catatonit',
  'ca-certificates',
  'libatomic1',
  'libstdc++6',
];
/** Services of the base system that only cost time, and the distribution's containerd: ours is another one. */
const DISABLED: readonly string[] = [
  'containerd.service',
  'apt-daily.timer',
  'apt-daily-upgrade.timer',
  'dpkg-db-backup.timer',
  'e2scrub_all.timer',
  'e2scrub_reap.service',
  'fstrim.timer',
  'systemd-timesyncd.service',
];
const BUILD_TIMEOUT_MS = 600_000;

/** Folder of the cached system, built first when the recipe changed or there is none. Needs root and, for building,
 *  a Debian mirror: NODEAGENT_DEBIAN_MIRROR, or the one that debootstrap uses by itself. */
export function cachedRootfs(): Promise<string> {
  return cachedFolder('rootfs', [SUITE, PACKAGES, DISABLED], build);
}

async function build(folder: string): Promise<void> {
  const mirror = process.env['NODEAGENT_DEBIAN_MIRROR'];
  process.stdout.write('building the end-to-end system from a Debian mirror; this is done once\n');
  await run(
    'debootstrap',
    [
      '--variant=minbase',
      `--include=${PACKAGES.join(',')}`,
      SUITE,
      folder,
      ...(mirror === undefined ? [] : [mirror]),
    ],
    {
      timeout: BUILD_TIMEOUT_MS,
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  await run('systemctl', [`--root=${folder}`, 'disable', ...DISABLED]);
  await rm(join(folder, 'var/cache/apt/archives'), { recursive: true, force: true });
  await rm(join(folder, 'var/lib/apt/lists'), { recursive: true, force: true });
  await writeFile(join(folder, 'etc/hostname'), 'node1\n');
  // Logs must outlive a reboot for the test to read them.
  await mkdir(join(folder, 'var/log/journal'), { recursive: true });
}
