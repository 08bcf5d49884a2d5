/** Parser of the mount table in `/proc/self/mountinfo`. Pure.
 *  Source: proc_pid_mountinfo(5). */

export interface MountInfo {
  readonly id: number;
  readonly parentId: number;
  /** `major:minor` of the file system. */
  readonly device: string;
  /** Path of the mounted directory inside its file system. */
  readonly root: string;
  readonly mountPoint: string;
  readonly options: readonly string[];
  /** Propagation, such as `shared:12` or `master:3`. */
  readonly propagation: readonly string[];
  readonly fsType: string;
  readonly source: string;
  readonly superOptions: readonly string[];
}

/** A line of the mount table that is not in the kernel's format. */
export class MountInfoError extends Error {
  readonly reason = 'InvalidMountInfo';

  constructor(line: string) {
    super(`cannot parse mount table line: ${JSON.stringify(line)}`);
    this.name = 'MountInfoError';
  }
}

/** Decodes the kernel's escapes: space, tab, newline and backslash as three octal digits. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replaceAll(/\\([0-3][0-7]{2})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

const list = (text: string): readonly string[] => (text === '' ? [] : text.split(','));

function parseLine(line: string): MountInfo {
  const fields = line.split(' ');
  const separator = fields.indexOf('-', 6);
  const [id, parentId, device, root, mountPoint, options] = fields;
  const [fsType, source, superOptions] = fields.slice(separator + 1);
  if (
    separator < 0 ||
    id === undefined ||
    parentId === undefined ||
    device === undefined ||
    root === undefined ||
    mountPoint === undefined ||
    options === undefined ||
    fsType === undefined ||
    source === undefined ||
    !/^\d+$/.test(id) ||
    !/^\d+$/.test(parentId)
  ) {
    throw new MountInfoError(line);
  }
  return {
    id: Number(id),
    parentId: Number(parentId),
    device,
    root: unescape(root),
    mountPoint: unescape(mountPoint),
    options: list(options),
    propagation: fields.slice(6, separator),
    fsType: unescape(fsType),
    source: unescape(source),
    superOptions: list(superOptions ?? ''),
  };
}

/** Returns every mount in the kernel's order: a mount follows those that it covers.
 *  @throws MountInfoError */
export function parseMountInfo(text: string): readonly MountInfo[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => parseLine(line));
}

/** Returns the mounts at `dir` or beneath it in the order of unmounting: newest and innermost first. */
export function mountsBeneath(mounts: readonly MountInfo[], dir: string): readonly MountInfo[] {
  return mounts
    .filter((mount) => mount.mountPoint === dir || mount.mountPoint.startsWith(`${dir}/`))
    .toReversed();
}
