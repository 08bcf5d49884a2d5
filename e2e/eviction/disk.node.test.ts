/** Disk pressure on a node whose root directory is on a small disk. */
import { execFile } from 'node:child_process';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import type { TestAgent } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import {
  DISK_FLAGS,
  DISK_GRACE_MS,
  DISK_TAKERS,
  INODES_TAKERS,
  INODES_THRESHOLD,
  MODEST,
  SMALL_DISK,
  takesIt,
  whoEnds,
} from './shortages.ts';
import { shortNode, startAgent } from './support.ts';

const run = promisify(execFile);

/** A folder whose `root` is a file system of its own. */
async function createSmallFolder(): Promise<TempDir> {
  const folder = await createTempDir('na-evict-');
  const [image, root] = [`${folder.path}/disk`, `${folder.path}/root`];
  await mkdir(root);
  await writeFile(image, '');
  await truncate(image, SMALL_DISK.mebibytes * 2 ** 20);
  await run('mkfs.ext4', ['-q', '-m', '0', '-N', String(SMALL_DISK.inodes), image]);
  await run('mount', ['-o', 'loop', image, root]);
  return {
    path: folder.path,
    async [Symbol.asyncDispose]() {
      await run('umount', [root]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

let agent: TestAgent;
beforeAll(async () => {
  const flags = [...DISK_FLAGS, `--eviction-hard=${INODES_THRESHOLD}`];
  agent = await startAgent({ endpoint: inject('criEndpoint'), folder: await createSmallFolder(), flags });
  await takesIt(shortNode(agent), MODEST);
});
afterAll(() => agent[Symbol.asyncDispose]());

test('pods that fill the disk are evicted after the grace period, until the minimum reclaim is available', async () => {
  expect(await whoEnds(shortNode(agent), DISK_TAKERS, DISK_GRACE_MS)).toEqual(['greedy', 'second']);
}, 120_000);

test('the pod that uses up the inodes is evicted', async () => {
  expect(await whoEnds(shortNode(agent), INODES_TAKERS)).toEqual(['files']);
}, 120_000);
