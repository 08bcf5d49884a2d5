/** Project quotas as usage counters: a file system counts the content of a project, which whole directories
 *  join by inheritance.
 *
 *  The project is stored in the directory itself, and a project that counts anything is in use, since the
 *  directory itself is one inode. So nothing must be remembered elsewhere, and removing a directory frees
 *  its project. Only counts are used; nothing is limited. Source: quotactl(2), ioctl_xfs_fsgetxattr(2). */

import { errorCode } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import { holdDir } from '../files/held-dir.ts';
import type { ProjectCalls } from './project-calls.ts';
import type { TreeUsage } from './walk.ts';

/** As upstream: administrators use lower numbers. */
const FIRST_PROJECT = 1_048_577;
/** Number of projects searched for a free one; beyond that, directories get no accounting. */
const MOST_CHECKED = 100_000;

export interface ProjectQuotas {
  /** Assigns a new project to an empty directory of the agent, or adopts the existing one. Leaves the
   *  directory unchanged if the file system does not support it. */
  adopt(path: string): Promise<void>;
  /** Returns the directories with a project. */
  folders(): readonly string[];
  /** Returns the usage of such a directory. Undefined if it is gone, or has lost its project, and then it
   *  is forgotten. */
  usage(path: string): Promise<TreeUsage | undefined>;
}

export interface ProjectQuotasDeps {
  readonly calls: ProjectCalls;
  /** Projects defined by administrators in `/etc/projects` and `/etc/projid`. */
  readonly named: () => Promise<ReadonlySet<number>>;
  readonly onFailure: (path: string, thrown: unknown) => void;
}

/** Returns the project numbers in the lines of `/etc/projects` (`number:path`) or `/etc/projid`
 *  (`name:number`). Pure. */
export function namedProjects(text: string): ReadonlySet<number> {
  const numbers = text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .flatMap((line) => line.split(':').filter((word) => /^\s*\d+\s*$/.test(word)))
    .map(Number);
  return new Set(numbers);
}

export function createProjectQuotas({ calls, named, onFailure }: ProjectQuotasDeps): ProjectQuotas {
  const projects = new Map<string, number>();
  /** Sequentially: a project is in use only after its directory has it. */
  const oneByOne = createLimiter(1);
  let next = FIRST_PROJECT;

  async function freeProject(fd: number): Promise<number> {
    const used = await named();
    for (let checked = 0; checked < MOST_CHECKED; checked += 1) {
      const project = next;
      next += 1;
      if (used.has(project)) continue;
      const { usedBytes, inodes } = await calls.usage(fd, project);
      if (usedBytes === 0 && inodes === 0) return project;
    }
    next = FIRST_PROJECT;
    throw new RangeError('no free project ID');
  }

  async function adoptNow(path: string): Promise<void> {
    await using dir = await holdDir(path);
    // Fails if the file system has no accounting, before anything is changed.
    await calls.usage(dir.fd, FIRST_PROJECT);
    let { project, inherited } = await calls.projectOf(dir.fd);
    if (project < FIRST_PROJECT || !inherited) {
      project = await freeProject(dir.fd);
      await calls.setProject(dir.fd, project);
    }
    if ((await calls.usage(dir.fd, project)).inodes === 0)
      throw new RangeError(`the quota of ${path} counts nothing`);
    projects.set(path, project);
  }

  return {
    async adopt(path) {
      if (projects.has(path)) return;
      try {
        await oneByOne.run(() => adoptNow(path));
      } catch (thrown) {
        onFailure(path, thrown);
      }
    },
    folders: () => [...projects.keys()],
    async usage(path) {
      const project = projects.get(path);
      if (project === undefined) return undefined;
      try {
        await using dir = await holdDir(path);
        // A container may own the directory, and its owner may change the project.
        if ((await calls.projectOf(dir.fd)).project === project) return await calls.usage(dir.fd, project);
      } catch (thrown) {
        if (errorCode(thrown) !== 'ENOENT') onFailure(path, thrown);
      }
      projects.delete(path);
      return undefined;
    },
  };
}
