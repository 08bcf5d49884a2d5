/** Which hierarchies of cgroups are mounted, and with which controllers. Pure. @see cgroups(7), proc(5) */

export interface Hierarchies {
  /** The version in which limits are set; with both, that of the controllers. */
  readonly version: 1 | 2;
  /** Mount point by controller; of version 2 the same for all, and which there are is told by its files. */
  readonly mountPoints: ReadonlyMap<string, string>;
  /** Every mount point, as a runtime makes its cgroups in all of them. */
  readonly all: readonly string[];
}

/** Controllers that limits of pods need; any of them makes a machine one of version 1. */
const DECISIVE: readonly string[] = ['cpu', 'memory', 'pids'];

const unescape = (path: string): string =>
  path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Reads /proc/self/mountinfo; undefined where no cgroups are mounted. */
export function parseHierarchies(mountinfo: string): Hierarchies | undefined {
  const mountPoints = new Map<string, string>();
  const all = new Set<string>();
  let unified: string | undefined;
  for (const line of mountinfo.split('\n')) {
    const [mount = '', fs = ''] = line.split(' - ');
    const mountPoint = unescape(mount.split(' ')[4] ?? '');
    const [type, , options = ''] = fs.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    all.add(mountPoint);
    if (type === 'cgroup2') unified ??= mountPoint;
    else for (const one of options.split(',')) if (!mountPoints.has(one)) mountPoints.set(one, mountPoint);
  }
  if (DECISIVE.some((controller) => mountPoints.has(controller))) {
    return { version: 1, mountPoints, all: [...all] };
  }
  return unified === undefined
    ? undefined
    : { version: 2, mountPoints: new Map([['', unified]]), all: [unified] };
}
