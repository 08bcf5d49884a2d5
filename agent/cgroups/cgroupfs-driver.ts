/** Driver `cgroupfs`: the agent creates cgroup directories itself. */
import type { CgroupLimits } from './limits.ts';
import { type CgroupDriver, type CgroupName, cgroupPath } from './names.ts';
import type { CgroupError, CgroupTree } from './tree.ts';

/** Creates cgroups by name, through either driver. */
export interface CgroupMaker {
  readonly driver: CgroupDriver;
  readonly tree: CgroupTree;
  /** Path in the hierarchies. */
  path(name: CgroupName): string;
  /** Cgroup parent in the form that the runtime expects for a sandbox. */
  parent(name: CgroupName): string;
  /** Creates the cgroup if missing, and sets its limits. @returns the rejected limits. @throws Error */
  set(name: CgroupName, limits: CgroupLimits): Promise<readonly CgroupError[]>;
  /** Sets limits of a cgroup that is managed by others, and leaves its other limits. @returns the rejected
   *  limits */
  limit(path: string, limits: CgroupLimits): Promise<readonly CgroupError[]>;
  /** Removes the cgroup at a path, created by either driver, with its descendants. @throws CgroupBusyError */
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
