/** Mounted cgroup hierarchies and their controllers. Pure. @see cgroups(7), proc(5) */

export interface Hierarchies {
  /** Version in which limits are set; in a hybrid setup, that of the controllers. */
  readonly version: 1 | 2;
  /** Mount point by controller; the same for all in version 2, whose files list the available ones. */
  readonly mountPoints: ReadonlyMap<string, string>;
  /** All mount points, since a runtime creates its cgroups in each of them. */
  readonly all: readonly string[];
}

/** Controllers that pod limits need; a v1 mount of any of them makes the machine one of version 1. */
const DECISIVE: readonly string[] = ['cpu', 'memory', 'pids'];

const unescape = (path: string): string =>
  path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Parses /proc/self/mountinfo; undefined where no cgroups are mounted. */
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
