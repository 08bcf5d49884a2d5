/** Mount options parsed for mount(2): flags common to all file systems, and data for the file system
 *  itself. Pure. Source: mount(8), mount(2). */
import { VolumeSetupError } from '../errors/setup-error.ts';
import { MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY } from '../files/syscalls.ts';

export interface MountFlags {
  readonly flags: number;
  /** Comma-separated, for the file system. */
  readonly data: string;
}

const MS_SYNCHRONOUS = 16;
const MS_MANDLOCK = 64;
const MS_DIRSYNC = 128;
const MS_NOATIME = 1024;
const MS_NODIRATIME = 2048;
const MS_SILENT: number = 1 << 15;
const MS_RELATIME: number = 1 << 21;
const MS_I_VERSION: number = 1 << 23;
const MS_STRICTATIME: number = 1 << 24;
const MS_LAZYTIME: number = 1 << 25;

/** The flags that each option sets and clears. */
const FLAGS: Readonly<Record<string, { readonly set?: number; readonly clear?: number }>> = {
  ro: { set: MS_RDONLY },
  rw: { clear: MS_RDONLY },
  nosuid: { set: MS_NOSUID },
  suid: { clear: MS_NOSUID },
  nodev: { set: MS_NODEV },
  dev: { clear: MS_NODEV },
  noexec: { set: MS_NOEXEC },
  exec: { clear: MS_NOEXEC },
  sync: { set: MS_SYNCHRONOUS },
  async: { clear: MS_SYNCHRONOUS },
  dirsync: { set: MS_DIRSYNC },
  mand: { set: MS_MANDLOCK },
  nomand: { clear: MS_MANDLOCK },
  noatime: { set: MS_NOATIME, clear: MS_RELATIME | MS_STRICTATIME },
  atime: { clear: MS_NOATIME },
  nodiratime: { set: MS_NODIRATIME },
  diratime: { clear: MS_NODIRATIME },
  relatime: { set: MS_RELATIME, clear: MS_NOATIME | MS_STRICTATIME },
  norelatime: { clear: MS_RELATIME },
  strictatime: { set: MS_STRICTATIME, clear: MS_NOATIME | MS_RELATIME },
  nostrictatime: { clear: MS_STRICTATIME },
  lazytime: { set: MS_LAZYTIME },
  nolazytime: { clear: MS_LAZYTIME },
  iversion: { set: MS_I_VERSION },
  noiversion: { clear: MS_I_VERSION },
  silent: { set: MS_SILENT },
  loud: { clear: MS_SILENT },
  defaults: { clear: MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_SYNCHRONOUS },
};

/** Options for boot-time mount tools; without effect here. */
const FOR_OTHERS: ReadonlySet<string> = new Set([
  'auto',
  'noauto',
  'user',
  'nouser',
  'users',
  'owner',
  'group',
  '_netdev',
  'nofail',
]);

/** Options that would turn the call into something else than a mount of this device. */
const REFUSED: ReadonlySet<string> = new Set([
  'bind',
  'rbind',
  'move',
  'remount',
  'shared',
  'rshared',
  'slave',
  'rslave',
  'private',
  'rprivate',
  'unbindable',
  'runbindable',
  'loop',
]);

const ONE_PAGE = 4096;

/** Splits lists of options; commas in double quotes do not separate. */
export function splitMountOptions(options: readonly string[]): readonly string[] {
  return options.flatMap((each) => each.match(/(?:"[^"]*"|[^,])+/g) ?? []).filter((each) => each !== '');
}

/** @param options each may contain several, separated by commas; later ones win
 *  @throws VolumeSetupError for options that a device mount must not have */
export function parseMountOptions(options: readonly string[]): MountFlags {
  let flags = 0;
  const data: string[] = [];
  for (const option of splitMountOptions(options)) {
    const [name = ''] = option.split('=', 1);
    const known = Object.hasOwn(FLAGS, option) ? FLAGS[option] : undefined;
    if (known !== undefined) flags = (flags & ~(known.clear ?? 0)) | (known.set ?? 0);
    else if (REFUSED.has(name)) {
      throw new VolumeSetupError(`mount option ${JSON.stringify(option)} is not allowed for a volume`);
    } else if (!FOR_OTHERS.has(option) && !/^x-/i.test(option) && name !== 'comment') data.push(option);
  }
  const text = data.join(',');
  if (text.includes('\0') || Buffer.byteLength(text) >= ONE_PAGE) {
    throw new VolumeSetupError('the mount options are longer than a page or contain a NUL');
  }
  return { flags, data: text };
}
