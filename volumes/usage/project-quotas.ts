/** Project quotas: a file system counts what belongs to a project, which whole folders do by inheritance.
 *
 *  A folder's project is written in the folder itself, and a project that counts anything is taken, the folder alone
 *  being one inode: nothing has to be remembered elsewhere, and a folder that is removed frees its project.
 *  Only counts are used; nothing is limited. Source: quotactl(2), ioctl_xfs_fsgetxattr(2). */
import { createLimiter } from '#api/kit/limiter.ts';
import { holdDir } from '../held-dir.ts';
import { errorCode } from '../setup-error.ts';
import type { ProjectCalls } from './project-calls.ts';
import type { TreeUsage } from './walk.ts';

/** As upstream: below it are those that administrators give. */
const FIRST_PROJECT = 1_048_577;
/** Projects that are looked at for a free one; a file system with more of them in use has no more counts. */
const MOST_LOOKED_AT = 100_000;

export interface ProjectQuotas {
  /** Gives an empty folder of the agent's a project of its own, or takes up the one that it has. What doesn't work
   *  on this file system is left as it is. */
  adopt(path: string): Promise<void>;
  /** Folders that have one. */
  folders(): readonly string[];
  /** What is counted in such a folder. Undefined for one that is gone, or has lost its project: that is forgotten. */
  usage(path: string): Promise<TreeUsage | undefined>;
}

export interface ProjectQuotasDeps {
  readonly calls: ProjectCalls;
  /** Projects that administrators name, in `/etc/projects` and `/etc/projid`. */
  readonly named: () => Promise<ReadonlySet<number>>;
  readonly onFailure: (path: string, thrown: unknown) => void;
}

/** Numbers of projects in the lines of `/etc/projects` (`number:path`) or `/etc/projid` (`name:number`). Pure. */
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
  /** One after the other: a project is taken only when its folder has it. */
  const oneByOne = createLimiter(1);
  let next = FIRST_PROJECT;

  async function freeProject(fd: number): Promise<number> {
    const taken = await named();
    for (let looked = 0; looked < MOST_LOOKED_AT; looked += 1) {
      const project = next;
      next += 1;
      if (taken.has(project)) continue;
      const { usedBytes, inodes } = await calls.usage(fd, project);
      if (usedBytes === 0 && inodes === 0) return project;
    }
    next = FIRST_PROJECT;
    throw new RangeError('no project is free');
  }

  async function adoptNow(path: string): Promise<void> {
    await using dir = await holdDir(path);
    // Fails where the file system keeps no count, before anything is changed.
    await calls.usage(dir.fd, FIRST_PROJECT);
    let { project, inherited } = await calls.projectOf(dir.fd);
    if (project < FIRST_PROJECT || !inherited) {
      project = await freeProject(dir.fd);
      await calls.setProject(dir.fd, project);
    }
    if ((await calls.usage(dir.fd, project)).inodes === 0) throw new RangeError(`${path} is not counted`);
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
        // A container may own the folder, and who owns it may give it another project.
        if ((await calls.projectOf(dir.fd)).project === project) return await calls.usage(dir.fd, project);
      } catch (thrown) {
        if (errorCode(thrown) !== 'ENOENT') onFailure(path, thrown);
      }
      projects.delete(path);
      return undefined;
    },
  };
}
