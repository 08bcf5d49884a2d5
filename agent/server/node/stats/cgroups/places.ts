/** Locates the cgroups of a process in the file system: cgroup v1, v2, or hybrid. Pure. @see cgroups(7) */

/** Controllers that provide statistics. */
export const KINDS = ['cpu', 'cpuacct', 'memory', 'blkio', 'pids'] as const;
export type Kind = (typeof KINDS)[number];

/** Directories of one cgroup. */
export type CgroupPlace =
  | { readonly version: 2; readonly path: string; readonly folder: string }
  | {
      readonly version: 1;
      /** Path within the hierarchy; that of the memory controller if hierarchies differ. */
      readonly path: string;
      readonly folders: Readonly<Partial<Record<Kind, string>>>;
    };

interface Hierarchy {
  readonly mountPoint: string;
  /** Subtree of the hierarchy that is mounted. */
  readonly root: string;
}

export interface Hierarchies {
  readonly v1: Readonly<Partial<Record<Kind, Hierarchy>>>;
  readonly v2: Hierarchy | undefined;
}

const unescape = (path: string): string =>
  path.replaceAll(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

/** Parses /proc/self/mountinfo. */
export function parseHierarchies(mountinfo: string): Hierarchies {
  const v1: Partial<Record<Kind, Hierarchy>> = {};
  let v2: Hierarchy | undefined;
  for (const line of mountinfo.split('\n')) {
    const [mount = '', fs = ''] = line.split(' - ');
    const [, , , root = '', mountPoint = ''] = mount.split(' ').map(unescape);
    const [type, , options = ''] = fs.split(' ');
    if (type === 'cgroup2') v2 ??= { mountPoint, root };
    if (type !== 'cgroup') continue;
    const controllers = new Set(options.split(','));
    for (const kind of KINDS) if (controllers.has(kind)) v1[kind] ??= { mountPoint, root };
  }
  return { v1, v2 };
}

/** Returns undefined for a path outside of the mounted subtree. */
function folderOf({ mountPoint, root }: Hierarchy, path: string): string | undefined {
  if (root === '/') return path === '/' ? mountPoint : `${mountPoint}${path}`;
  if (path !== root && !path.startsWith(`${root}/`)) return undefined;
  return `${mountPoint}${path.slice(root.length)}`;
}

/** Parses /proc/<pid>/cgroup: paths by controller, that of v2 under the empty name. */
function parsePaths(text: string): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    if (controllers === undefined || path === undefined) continue;
    for (const controller of controllers.split(',')) paths.set(controller, path);
  }
  return paths;
}

/** Returns the cgroup at this path in every hierarchy. */
export function placeAt(
  { v1, v2 }: Hierarchies,
  pathOf: (kind: Kind | '') => string | undefined,
): CgroupPlace | undefined {
  const folders: Partial<Record<Kind, string>> = {};
  for (const kind of KINDS) {
    const [hierarchy, path] = [v1[kind], pathOf(kind)];
    const folder = hierarchy === undefined || path === undefined ? undefined : folderOf(hierarchy, path);
    if (folder !== undefined) folders[kind] = folder;
  }
  // In hybrid mode, the controllers are in v1.
  if (Object.keys(folders).length > 0) return { version: 1, path: pathOf('memory') ?? '/', folders };
  const path = pathOf('');
  const folder = v2 === undefined || path === undefined ? undefined : folderOf(v2, path);
  return path === undefined || folder === undefined ? undefined : { version: 2, path, folder };
}

/** @param text content of /proc/<pid>/cgroup */
export function placeOf(hierarchies: Hierarchies, text: string): CgroupPlace | undefined {
  const paths = parsePaths(text);
  return placeAt(hierarchies, (kind) => paths.get(kind));
}
