/** The driver `cgroupfs`: cgroups are folders that the agent makes itself. */
import type { CgroupLimits } from './limits.ts';
import { type CgroupDriver, type CgroupName, cgroupPath } from './names.ts';
import type { CgroupFault, CgroupTree } from './tree.ts';

/** Makes cgroups by name, whoever does it in the end. */
export interface CgroupMaker {
  readonly driver: CgroupDriver;
  readonly tree: CgroupTree;
  /** Path in the hierarchies. */
  path(name: CgroupName): string;
  /** How the runtime is told to put a sandbox into it. */
  parent(name: CgroupName): string;
  /** Makes it where it is not there, and sets its limits. @returns those that were refused. @throws Error */
  set(name: CgroupName, limits: CgroupLimits): Promise<readonly CgroupFault[]>;
  /** Sets limits of a cgroup that somebody else made, and leaves its others. @returns those that were refused */
  limit(path: string, limits: CgroupLimits): Promise<readonly CgroupFault[]>;
  /** Removes the cgroup at a path that this or another driver made, with all below it. @throws CgroupBusyError */
  remove(path: string): Promise<void>;
  close(): void;
}

export function createCgroupfsMaker(tree: CgroupTree): CgroupMaker {
  const path = (name: CgroupName): string => cgroupPath(name, 'cgroupfs');
  return {
    driver: 'cgroupfs',
    tree,
    path,
    parent: path,
    async set(name, limits) {
      await tree.create(path(name));
      return tree.apply(path(name), limits);
    },
    limit: (at, limits) => tree.apply(at, limits, 'keep'),
    remove: (at) => tree.remove(at),
    close: () => undefined,
  };
}
