/** File system checks that run in the VM, whose kernel has features that the tests' machines may lack:
 *  project quotas, and the privilege to expand a mounted ext file system. Prints the results for each file
 *  system as a line of JSON. */
import { mkdir, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestDisks, type TestDisks } from '#volumes/devices/disk.fixture.ts';
import { growFileSystem } from '#volumes/devices/resize.ts';
import { createProjectCalls } from '#volumes/usage/project-calls.ts';
import { createProjectQuotas, type ProjectQuotas } from '#volumes/usage/project-quotas.ts';
import type { TreeUsage } from '#volumes/usage/walk.ts';

/** Results for one file system. */
export interface Seen {
  readonly fsType: string;
  /** Usage counted for an earlier agent's folder, and for an empty one. */
  readonly full: TreeUsage | undefined;
  readonly empty: TreeUsage | undefined;
  readonly grew: boolean;
  readonly beforeMib: number;
  readonly afterMib: number;
}

const MIB = 1024 * 1024;
const FROM_MIB = 320;
const TO_MIB = 400;
const WRITTEN_MIB = 3;
const MAKE: Readonly<Record<string, readonly string[]>> = {
  ext4: ['mkfs.ext4', '-q', '-O', 'project,quota', '-E', 'quotatype=prjquota'],
  xfs: ['mkfs.xfs', '-q'],
};

function quotasOfAgent(): ProjectQuotas {
  return createProjectQuotas({
    calls: createProjectCalls(),
    named: () => Promise.resolve(new Set()),
    onFailure: (path, thrown) => console.error(path, thrown),
  });
}

async function sizeMib(path: string): Promise<number> {
  const { blocks, bsize } = await statfs(path);
  return Math.round((blocks * bsize) / MIB);
}

async function look(disks: TestDisks, fsType: string): Promise<Seen> {
  await using disk = await disks.disk(FROM_MIB);
  const { device } = disk;
  const [program = '', ...args] = MAKE[fsType] ?? [];
  await disks.run(program, [...args, device]);
  const target = await disks.folder(fsType);
  await disks.run('mount', ['-o', 'prjquota', device, target]);
  try {
    const [full, empty] = [join(target, 'full'), join(target, 'empty')];
    const earlier = quotasOfAgent();
    for (const path of [full, empty]) {
      await mkdir(path);
      await earlier.adopt(path);
    }
    await mkdir(join(full, 'below'));
    await writeFile(join(full, 'below', 'file'), Buffer.alloc(WRITTEN_MIB * MIB, 1), { flush: true });
    const quotas = quotasOfAgent();
    for (const path of [full, empty]) await quotas.adopt(path);
    const beforeMib = await sizeMib(target);
    await disk.grow(TO_MIB);
    const { signal } = new AbortController();
    const grew = await growFileSystem(disks.deps, { device, target }, signal);
    const afterMib = await sizeMib(target);
    const counted = { full: await quotas.usage(full), empty: await quotas.usage(empty) };
    return { fsType, ...counted, grew, beforeMib, afterMib };
  } finally {
    await disks.run('umount', [target]);
  }
}

await using disks = await createTestDisks();
for (const fsType of Object.keys(MAKE)) console.log(JSON.stringify(await look(disks, fsType)));
