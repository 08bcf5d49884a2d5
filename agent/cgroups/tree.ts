/** Cgroup directories: creates them, writes limits into their files, and removes them with their processes.
 *  Knows paths in hierarchies, not their purpose. @see the kernel's documents on cgroup v1 and v2 */
import { join } from 'node:path';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { type CgroupFs, realFs } from './cgroup-fs.ts';
import type { Hierarchies } from './hierarchies.ts';
import {
  type CgroupLimits,
  type CgroupWrite,
  givenWrites,
  LIMIT_CONTROLLERS,
  type LimitController,
  writesV1,
  writesV2,
} from './limits.ts';
import { killProcess, pidsIn, processesBelow, removeCgroupFolder } from './removal.ts';

/** A limit that the kernel rejected. */
export interface CgroupError {
  readonly write: CgroupWrite;
  readonly error: Error;
}

export interface CgroupTreeDeps {
  readonly hierarchies: Hierarchies;
  readonly clock: Clock;
  readonly fs?: CgroupFs;
  readonly kill?: (pid: number) => void;
}

export interface CgroupTree {
  readonly version: 1 | 2;
  /** Creates the cgroup and its ancestors. @throws Error of the file system */
  create(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Controllers available in this cgroup. */
  controllers(path: string): Promise<ReadonlySet<LimitController>>;
  /** Sets limits that are not set already. Never rejects.
   *  @param others handling of limits that are not given; reset by default
   *  @returns the rejected limits */
  readonly apply: (
    path: string,
    limits: CgroupLimits,
    others?: 'keep' | 'reset',
  ) => Promise<readonly CgroupError[]>;
  /** Forgets the written values, so that the next update writes everything again. */
  forgetApplied(): void;
  /** Memory usage in bytes; undefined where it is not accounted. */
  memoryBytes(path: string): Promise<number | undefined>;
  /** Number of OOM kills in the cgroup and its descendants; undefined where the kernel does not count them,
   *  as in version 1. */
  oomKills(path: string): Promise<number | undefined>;
  /** Processes in the cgroup and its descendants. */
  processes(path: string): Promise<readonly number[]>;
  /** Processes in the root cgroup of the hierarchies with limits; without process 1. */
  rootProcesses(): Promise<readonly number[]>;
  /** Moves a process into the cgroup, in every hierarchy that contains it. @throws Error of the file system */
  move(path: string, pid: number): Promise<void>;
  /** Removes the cgroup with its descendants from every hierarchy, and kills its processes. Idempotent.
   *  @throws CgroupBusyError */
  remove(path: string): Promise<void>;
}

/** Location of the files of a cgroup. */
interface Folders {
  of(controller: LimitController, path: string): string | undefined;
  all(path: string): readonly string[];
}

function createFolders({ version, mountPoints }: Hierarchies): Folders {
  const of = (controller: LimitController, path: string): string | undefined => {
    const mountPoint = mountPoints.get(version === 2 ? '' : controller);
    return mountPoint === undefined ? undefined : join(mountPoint, path);
  };
  return {
    of,
    all: (path) => [...new Set(LIMIT_CONTROLLERS.flatMap((controller) => of(controller, path) ?? []))],
  };
}

const fields = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Creates cgroups of version 2 and enables the controllers that the parent provides. */
function createUnified(fs: CgroupFs, root: string): { create(path: string): Promise<void>; forget(): void } {
  /** Directories that delegate the controllers to their children. */
  const opened = new Set<string>();

  async function open(folder: string): Promise<void> {
    if (opened.has(folder)) return;
    const there = fields(await fs.read(join(folder, 'cgroup.controllers')));
    for (const controller of LIMIT_CONTROLLERS) {
      if (!there.has(controller)) continue;
      // A rejected delegation, for instance because of processes in the cgroup, shows as a missing controller
      // later.
      await fs.write(join(folder, 'cgroup.subtree_control'), `+${controller}`).catch(() => undefined);
    }
    opened.add(folder);
  }

  return {
    async create(path) {
      let folder = root;
      for (const part of path.split('/').filter((one) => one !== '')) {
        await open(folder);
        folder = join(folder, part);
        await fs.mkdir(folder);
      }
    },
    forget: () => opened.clear(),
  };
}

/** Writes limits, each only when it changes. */
function createWriter(
  fs: CgroupFs,
  version: 1 | 2,
  folders: Folders,
): {
  readonly apply: CgroupTree['apply'];
  /** Without a path, all of them. */
  readonly forget: (path?: string) => void;
} {
  /** Last written values, by file. */
  const applied = new Map<string, string>();

  async function set(path: string, write: CgroupWrite): Promise<readonly CgroupError[]> {
    const folder = folders.of(write.controller, path);
    if (folder === undefined) return [];
    const file = join(folder, write.file);
    if (applied.get(file) === write.text) return [];
    try {
      await fs.write(file, write.text);
      applied.set(file, write.text);
      return [];
    } catch (thrown) {
      return [{ write, error: asError(thrown) }];
    }
  }

  return {
    async apply(path, limits, others = 'reset') {
      const all = version === 2 ? writesV2 : writesV1;
      const writes = others === 'reset' ? all(limits) : givenWrites(all, limits);
      const groups = [...Map.groupBy(writes, ({ controller }) => controller).values()];
      // In order within a controller: the quota is relative to the period before it.
      const errors = await Promise.all(
        groups.map(async (group) => {
          const refused: CgroupError[] = [];
          for (const write of group) refused.push(...(await set(path, write)));
          return refused;
        }),
      );
      return errors.flat();
    },
    forget(path) {
      for (const file of applied.keys()) {
        if (path === undefined || file.includes(`${path}/`)) applied.delete(file);
      }
    },
  };
}

export function createCgroupTree(deps: CgroupTreeDeps): CgroupTree {
  const { hierarchies, clock, fs = realFs, kill = killProcess } = deps;
  const { version, mountPoints, all } = hierarchies;
  const folders = createFolders(hierarchies);
  const unified = createUnified(fs, mountPoints.get('') ?? '/');
  const writer = createWriter(fs, version, folders);
  return {
    version,
    apply: writer.apply,
    async create(path) {
      if (version === 1) {
        await Promise.all(folders.all(path).map((folder) => fs.mkdir(folder)));
        return;
      }
      await unified.create(path).catch((thrown: unknown) => {
        // The known directory was removed externally: it is created again at the next update.
        unified.forget();
        throw thrown;
      });
    },
    async exists(path) {
      const found = await Promise.all(folders.all(path).map((folder) => fs.exists(folder)));
      return found.every(Boolean);
    },
    async controllers(path) {
      if (version === 1) return new Set(LIMIT_CONTROLLERS.filter((one) => mountPoints.has(one)));
      const [folder = '/'] = folders.all(path);
      const there = fields(await fs.read(join(folder, 'cgroup.controllers')).catch(() => ''));
      return new Set(LIMIT_CONTROLLERS.filter((one) => there.has(one)));
    },
    forgetApplied() {
      writer.forget();
      unified.forget();
    },
    async memoryBytes(path) {
      const folder = folders.of('memory', path);
      if (folder === undefined) return undefined;
      const file = join(folder, version === 2 ? 'memory.current' : 'memory.usage_in_bytes');
      return fs.read(file).then(
        (text) => Number(text.trim()),
        () => undefined,
      );
    },
    async oomKills(path) {
      const folder = version === 2 ? folders.of('memory', path) : undefined;
      if (folder === undefined) return undefined;
      const count = /^oom_kill (\d+)$/m.exec(await fs.read(join(folder, 'memory.events')))?.[1];
      return count === undefined ? undefined : Number(count);
    },
    async processes(path) {
      const found = await Promise.all(all.map((mountPoint) => processesBelow(fs, join(mountPoint, path))));
      return [...new Set(found.flat())];
    },
    async rootProcesses() {
      const texts = await Promise.all(
        folders.all('/').map((folder) => fs.read(join(folder, 'cgroup.procs'))),
      );
      return [...new Set(texts.flatMap(pidsIn))];
    },
    async move(path, pid) {
      for (const folder of folders.all(path)) await fs.write(join(folder, 'cgroup.procs'), `${pid}`);
    },
    async remove(path) {
      for (const mountPoint of all) await removeCgroupFolder({ fs, clock, kill }, join(mountPoint, path));
      writer.forget(path);
    },
  };
}
