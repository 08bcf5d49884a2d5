/** The folders of cgroups: makes them, writes limits into their files, and removes them with what is left in them.
 *  Knows paths in hierarchies, not what they are for. @see the kernel's documents on cgroup v1 and v2 */
import { join } from 'node:path';
import { asError, type Clock } from '#api/kit/clock.ts';
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

/** A limit that the kernel did not take. */
export interface CgroupFault {
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
  /** Makes the cgroup and those above it. @throws Error of the file system */
  create(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Controllers whose limits can be set on this cgroup. */
  controllers(path: string): Promise<ReadonlySet<LimitController>>;
  /** Sets limits that are not set already. Never rejects.
   *  @param others what becomes of limits that are not given; taken back unless said otherwise
   *  @returns those that were refused */
  readonly apply: (
    path: string,
    limits: CgroupLimits,
    others?: 'keep' | 'reset',
  ) => Promise<readonly CgroupFault[]>;
  /** Sets everything anew at the next time. */
  forgetApplied(): void;
  /** Bytes of memory in use; undefined where it is not counted. */
  memoryBytes(path: string): Promise<number | undefined>;
  /** Processes that the kernel ended for want of memory in the cgroup and below it; undefined where it doesn't count
   *  them so, as version 1 doesn't. */
  oomKills(path: string): Promise<number | undefined>;
  /** Processes in the cgroup and below it. */
  processes(path: string): Promise<readonly number[]>;
  /** Processes that are in no cgroup below the root, where limits are set; without the first one. */
  rootProcesses(): Promise<readonly number[]>;
  /** Moves a process into the cgroup, in every hierarchy that has it. @throws Error of the file system */
  move(path: string, pid: number): Promise<void>;
  /** Removes the cgroup with all below it from every hierarchy, and ends what still runs in it. Gone already is fine.
   *  @throws CgroupBusyError */
  remove(path: string): Promise<void>;
}

/** Where a cgroup's files are. */
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

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Makes cgroups of version 2, each with the controllers that the one above it can give. */
function createUnified(fs: CgroupFs, root: string): { create(path: string): Promise<void>; forget(): void } {
  /** Folders whose children have the controllers. */
  const opened = new Set<string>();

  async function open(folder: string): Promise<void> {
    if (opened.has(folder)) return;
    const there = words(await fs.read(join(folder, 'cgroup.controllers')));
    for (const controller of LIMIT_CONTROLLERS) {
      if (!there.has(controller)) continue;
      // One that is refused, because processes are in the way for instance, is found missing by whoever asks.
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
  /** What was written last, by file. */
  const applied = new Map<string, string>();

  async function set(path: string, write: CgroupWrite): Promise<readonly CgroupFault[]> {
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
      // In order within a controller: a quota goes by the period before it.
      const faults = await Promise.all(
        groups.map(async (group) => {
          const refused: CgroupFault[] = [];
          for (const write of group) refused.push(...(await set(path, write)));
          return refused;
        }),
      );
      return faults.flat();
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
        // Somebody removed a folder that was known: it is looked at anew next time.
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
      const there = words(await fs.read(join(folder, 'cgroup.controllers')).catch(() => ''));
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
