/** Debian packages of the programs that volumes need. Includes programs of the base system, since small
 *  images may lack them. */

const PACKAGES: Readonly<Record<string, string>> = {
  blkid: 'util-linux',
  blockdev: 'util-linux',
  btrfs: 'btrfs-progs',
  ceph: 'ceph-common',
  'ceph-fuse': 'ceph-fuse',
  chattr: 'e2fsprogs',
  dumpe2fs: 'e2fsprogs',
  e2fsck: 'e2fsprogs',
  findmnt: 'util-linux',
  fsck: 'util-linux',
  'fsck.btrfs': 'btrfs-progs',
  'fsck.ext2': 'e2fsprogs',
  'fsck.ext3': 'e2fsprogs',
  'fsck.ext4': 'e2fsprogs',
  'fsck.xfs': 'xfsprogs',
  fusermount: 'fuse3',
  fusermount3: 'fuse3',
  git: 'git',
  glusterfs: 'glusterfs-client',
  iscsiadm: 'open-iscsi',
  losetup: 'mount',
  lsblk: 'util-linux',
  'mkfs.btrfs': 'btrfs-progs',
  'mkfs.ext2': 'e2fsprogs',
  'mkfs.ext3': 'e2fsprogs',
  'mkfs.ext4': 'e2fsprogs',
  'mkfs.xfs': 'xfsprogs',
  modprobe: 'kmod',
  mount: 'mount',
  'mount.ceph': 'ceph-common',
  'mount.cifs': 'cifs-utils',
  'mount.fuse.ceph': 'ceph-fuse',
  'mount.glusterfs': 'glusterfs-client',
  'mount.nfs': 'nfs-common',
  'mount.nfs4': 'nfs-common',
  multipath: 'multipath-tools',
  multipathd: 'multipath-tools',
  mkswap: 'util-linux',
  partx: 'util-linux',
  prlimit: 'util-linux',
  quota: 'quota',
  rbd: 'ceph-common',
  'rbd-nbd': 'rbd-nbd',
  resize2fs: 'e2fsprogs',
  'rpc.statd': 'nfs-common',
  setpriv: 'util-linux',
  setquota: 'quota',
  showmount: 'nfs-common',
  'systemd-run': 'systemd',
  tee: 'coreutils',
  tune2fs: 'e2fsprogs',
  udevadm: 'udev',
  umount: 'mount',
  'umount.nfs': 'nfs-common',
  xfs_admin: 'xfsprogs',
  xfs_growfs: 'xfsprogs',
  xfs_info: 'xfsprogs',
  xfs_quota: 'xfsprogs',
  xfs_repair: 'xfsprogs',
};

/** Programs without a Debian package, and their vendors' packages. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  drv_cfg: 'the SDC package of Dell PowerFlex (ScaleIO)',
  'mount.quobyte': 'the client package of Quobyte',
  pxctl: 'Portworx',
  storageos: 'StorageOS',
};

/** Returns the Debian package of the program; undefined if there is none, or it is unknown. */
export function debianPackage(program: string): string | undefined {
  return PACKAGES[program];
}

/** Returns a description that follows "install". */
export function packageOf(program: string): string {
  const name = PACKAGES[program];
  if (name !== undefined) return `the Debian package ${name}`;
  return ELSEWHERE[program] ?? 'the package that provides it';
}
