/** Servers of network storage in the VM: NFS, iSCSI with CHAP, iSCSI for one initiator at two portals, and SMB for the
 *  name of an Azure account. The image has
 *  them configured, tests start them. */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Vm } from './vm.ts';

export const NFS_EXPORT = '/srv/nfs';
export const ISCSI_TARGET = 'iqn.2026-11.io.plat.test:disks';
export const ISCSI_PORTAL = '127.0.0.1:3260';
/** The servers listen everywhere. */
export const SECOND_PORTAL = '127.0.0.2:3260';
/** A target with one unit, for the initiator of this name. */
export const NAMED_TARGET = 'iqn.2026-11.io.plat.test:named';
export const INITIATOR = 'iqn.2026-11.io.plat.test:node';
/** Logical units of the target, by what they are for. */
export const ISCSI_UNITS = { fileSystem: 1, block: 2 } as const;
export const CHAP = { username: 'initiator', password: 'only-for-tests-1' } as const;
export const AZURE = { account: 'teststorage', key: 'b25seS1mb3ItdGVzdHM=', share: 'files' } as const;

const SHARE_DIR = '/srv/share';
const DISKS = {
  fileSystem: '/srv/disk-file-system',
  block: '/srv/disk-block',
  named: '/srv/disk-named',
} as const;
const START_TIMEOUT_MS = 120_000;

/** Short, because clients of a restarted server would wait for 90 s. */
const NFS_CONF = `[nfsd]
grace-time=10
lease-time=10
`;

const TARGET_CONF = `<target ${ISCSI_TARGET}>
  incominguser ${CHAP.username} ${CHAP.password}
  <backing-store ${DISKS.fileSystem}>
    lun ${ISCSI_UNITS.fileSystem}
  </backing-store>
  <backing-store ${DISKS.block}>
    lun ${ISCSI_UNITS.block}
  </backing-store>
</target>
<target ${NAMED_TARGET}>
  initiator-name ${INITIATOR}
  <backing-store ${DISKS.named}>
    lun 1
  </backing-store>
</target>
`;

/** Maps only disks with several paths, which are used in turn. Fails over after seconds instead of minutes,
 *  and queues I/O while no path is available. */
const MULTIPATH_CONF = `defaults {
  find_multipaths yes
  user_friendly_names yes
  path_grouping_policy multibus
  polling_interval 2
  fast_io_fail_tmo 2
  no_path_retry 100
}
blacklist {
  devnode "^vd"
}
`;

/** Without AppArmor profiles, which are not used here. */
const SMBD = `[Service]
ExecStartPre=
`;

const SMB_CONF = `[global]
  server role = standalone server
  disable netbios = yes
  interfaces = lo
  load printers = no
[${AZURE.share}]
  path = ${SHARE_DIR}
  read only = no
`;

const UNITS = ['nfs-server.service', 'tgt.service', 'multipathd.service', 'smbd.service'];

const FILES: Readonly<Record<string, string>> = {
  'etc/exports': `${NFS_EXPORT} 127.0.0.1(rw,no_root_squash,no_subtree_check,insecure)\n`,
  'etc/nfs.conf.d/test.conf': NFS_CONF,
  'etc/tgt/conf.d/test.conf': TARGET_CONF,
  'etc/multipath.conf': MULTIPATH_CONF,
  'etc/systemd/system/smbd.service.d/test.conf': SMBD,
  'etc/samba/smb.conf': SMB_CONF,
};

const PREPARE = `mkdir -p ${NFS_EXPORT} ${SHARE_DIR}
truncate -s 64M ${Object.values(DISKS).join(' ')}
useradd --no-create-home ${AZURE.account}
chown ${AZURE.account} ${SHARE_DIR}
printf '%s\\n%s\\n' '${AZURE.key}' '${AZURE.key}' | smbpasswd -s -a ${AZURE.account}`;

/** Configures them in the image's folder, where programs run at full speed. */
export async function configureStorageServers(rootfs: string): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(rootfs, path)), { recursive: true });
    await writeFile(join(rootfs, path), text);
  }
  await appendFile(join(rootfs, 'etc/hosts'), `127.0.0.1 ${AZURE.account}.file.core.windows.net\n`);
  await promisify(execFile)('chroot', [rootfs, 'sh', '-euc', PREPARE]);
}

/** Starts them, now and whenever the VM boots. */
export async function startStorageServers(vm: Vm): Promise<void> {
  await vm.run(['systemctl', 'add-wants', 'multi-user.target', ...UNITS]);
  await vm.run(['systemctl', 'start', ...UNITS], START_TIMEOUT_MS);
  await vm.run(['sync']);
}
