/** Records of the cgroups that this agent created for pods, on disk; other cgroups belong to other programs.
 *  A record is written before its cgroup exists and removed after it, so a killed agent leaves no untracked
 *  cgroup. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface CgroupRecords {
  put(podUID: string, at: string): Promise<void>;
  drop(podUID: string): Promise<void>;
  /** Undefined for a pod without a record. */
  path(podUID: string): Promise<string | undefined>;
  /** Cgroup path by pod UID. Unreadable records are skipped. */
  all(): Promise<ReadonlyMap<string, string>>;
}

const UID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** A path that ends in the pod's own cgroup, in the form of either driver. */
const isOfPod = (path: string, podUID: string): boolean =>
  path.startsWith('/') &&
  !path.split('/').includes('..') &&
  (path.endsWith(`/pod${podUID}`) || path.endsWith(`-pod${podUID.replaceAll('-', '_')}.slice`));

export function createCgroupRecords(dir: string): CgroupRecords {
  let directory: Promise<unknown> | undefined;

  async function path(podUID: string): Promise<string | undefined> {
    if (!UID.test(podUID)) return undefined;
    const text = await readFile(join(dir, podUID), 'utf8').catch(() => '');
    return isOfPod(text, podUID) ? text : undefined;
  }

  return {
    path,
    async put(podUID, at) {
      directory ??= mkdir(dir, { recursive: true, mode: 0o700 });
      await directory;
      await writeFile(join(dir, podUID), at, { mode: 0o600 });
    },
    drop: (podUID) => rm(join(dir, podUID), { force: true }),
    async all() {
      const names = await readdir(dir).catch(() => []);
      const found = await Promise.all(names.map(async (name) => [name, await path(name)] as const));
      return new Map(found.flatMap(([podUID, at]) => (at === undefined ? [] : [[podUID, at] as const])));
    },
  };
}
