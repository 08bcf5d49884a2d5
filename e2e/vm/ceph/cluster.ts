/** A Ceph cluster in the VM: one monitor, one disk, one metadata server. It is created with the VM's disk, at
 *  full speed, and its servers start at every boot of the VM. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DiskAddition } from '../image.ts';

export const CEPH = {
  monitor: '127.0.0.1:6789',
  pool: 'rbd',
  image: 'disk',
  user: 'tester',
  /** In the VM. */
  keyFile: '/etc/ceph/tester.key',
} as const;

const SCRIPT = join(import.meta.dirname, 'make-cluster.sh');
const TIMEOUT_MS = 600_000;
const UNITS = ['ceph-mon@a.service', 'ceph-osd@0.service', 'ceph-mds@a.service'];
const run = promisify(execFile);

/** In a systemd container with its own network, where the monitor's address is unused. */
async function makeCluster(rootfs: string): Promise<void> {
  const script = join(rootfs, 'root/make-cluster.sh');
  await mkdir(join(rootfs, 'root'), { recursive: true });
  await copyFile(SCRIPT, script);
  const container = ['--quiet', `--directory=${rootfs}`, '--register=no', '--keep-unit', '--pipe'];
  const alone = ['--private-network', '--capability=all'];
  const command = ['bash', '/root/make-cluster.sh', CEPH.pool, CEPH.image, CEPH.user];
  await run('systemd-nspawn', [...container, ...alone, ...command], {
    timeout: TIMEOUT_MS,
    maxBuffer: 64 * 1024 * 1024,
    // Kernels in containers may not support its system call filter.
    env: { ...process.env, SYSTEMD_SECCOMP: '0' },
  });
  await rm(script);
  await run('systemctl', [`--root=${rootfs}`, 'enable', ...UNITS]);
}

/** The servers with the disk that they serve. */
export async function cephDisk(): Promise<DiskAddition> {
  return {
    name: 'vm-ceph',
    packages: ['ceph-mon', 'ceph-osd', 'ceph-mds', 'ceph-common'],
    recipe: [await readFile(SCRIPT, 'utf8'), await readFile(import.meta.filename, 'utf8')],
    configure: makeCluster,
  };
}
