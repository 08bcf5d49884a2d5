/** Effective cpuset of a container in the kernel: the file of its cgroup, located once by its first process. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface AffinityDeps {
  /** First process of a container; undefined when the runtime does not report it. */
  readonly processOf: (containerId: string) => Promise<number | undefined>;
  /** Content of a file; rejects when it does not exist. */
  readonly read?: (path: string) => Promise<string>;
}

export interface Affinity {
  /** In the form of `cpuset.cpus`; undefined when unknown. */
  of(containerId: string): Promise<string | undefined>;
  /** Drops the state of all containers except these. */
  retainOnly(ids: ReadonlySet<string>): void;
}

interface Mount {
  readonly root: string;
  readonly mountPoint: string;
}

/** Returns the mount point of the controller `cpuset`: its own hierarchy, or the unified one. Pure. @see
 *  proc(5) */
export function cpusetMount(mountinfo: string): (Mount & { readonly version: 1 | 2 }) | undefined {
  let unified: Mount | undefined;
  for (const line of mountinfo.split('\n')) {
    const [mount = '', fs = ''] = line.split(' - ');
    const [, , , root = '', mountPoint = ''] = mount.split(' ');
    const [type, , options = ''] = fs.split(' ');
    if (type === 'cgroup2') unified ??= { root, mountPoint };
    if (type === 'cgroup' && options.split(',').includes('cpuset')) return { root, mountPoint, version: 1 };
  }
  return unified === undefined ? undefined : { ...unified, version: 2 };
}

/** Returns the path of the cgroup in that hierarchy. Pure. @param text of `/proc/PID/cgroup` */
export function cpusetPath(text: string, version: 1 | 2): string | undefined {
  for (const line of text.split('\n')) {
    const [, controllers = '', ...path] = line.split(':');
    const isIt = version === 2 ? controllers === '' : controllers.split(',').includes('cpuset');
    if (isIt && path.length > 0) return path.join(':');
  }
  return undefined;
}

export function createAffinity({
  processOf,
  read = (path) => readFile(path, 'utf8'),
}: AffinityDeps): Affinity {
  const files = new Map<string, string>();
  let mounted: Promise<ReturnType<typeof cpusetMount>> | undefined;

  async function find(id: string): Promise<string | undefined> {
    const pid = await processOf(id);
    if (pid === undefined) return undefined;
    mounted ??= read('/proc/self/mountinfo').then(cpusetMount);
    const [mount, text] = await Promise.all([mounted, read(`/proc/${pid}/cgroup`)]);
    // A later process that reuses the PID belongs to another cgroup than this container's.
    if (mount === undefined || !text.includes(id)) return undefined;
    const path = cpusetPath(text, mount.version);
    if (path === undefined) return undefined;
    const below = mount.root !== '/' && path.startsWith(mount.root) ? path.slice(mount.root.length) : path;
    return join(mount.mountPoint, below, 'cpuset.cpus');
  }

  return {
    async of(id) {
      try {
        const file = files.get(id) ?? (await find(id));
        if (file === undefined) return undefined;
        files.set(id, file);
        return (await read(file)).trim();
      } catch {
        // The container has exited meanwhile, or its cgroup lacks the controller.
        return undefined;
      }
    },
    retainOnly(ids) {
      for (const id of files.keys()) if (!ids.has(id)) files.delete(id);
    },
  };
}
