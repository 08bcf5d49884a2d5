/** Which cgroups this agent made for pods, kept on disk: what is found beside them belongs to somebody else. A record is
 *  there before its cgroup and goes after it, so an agent that was killed anywhere leaves nothing that nobody removes. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface CgroupRecords {
  put(podUID: string, at: string): Promise<void>;
  drop(podUID: string): Promise<void>;
  /** Undefined for a pod that has none. */
  path(podUID: string): Promise<string | undefined>;
  /** Path of the cgroup by pod UID. Records that can't be read are left out. */
  all(): Promise<ReadonlyMap<string, string>>;
}

const UID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/;

/** A path that ends in the pod's own cgroup, as either driver names it. */
const isOfPod = (path: string, podUID: string): boolean =>
  path.startsWith('/') &&
  !path.split('/').includes('..') &&
  (path.endsWith(`/pod${podUID}`) || path.endsWith(`-pod${podUID.replaceAll('-', '_')}.slice`));

export function createCgroupRecords(dir: string): CgroupRecords {
  let made: Promise<unknown> | undefined;

  async function path(podUID: string): Promise<string | undefined> {
    if (!UID.test(podUID)) return undefined;
    const text = await readFile(join(dir, podUID), 'utf8').catch(() => '');
    return isOfPod(text, podUID) ? text : undefined;
  }

  return {
    path,
    async put(podUID, at) {
      made ??= mkdir(dir, { recursive: true, mode: 0o700 });
      await made;
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
