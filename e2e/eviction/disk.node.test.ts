/** A node whose root directory lies on a small disk that fills up. */
import { execFile } from 'node:child_process';
import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { isReady, type TestAgent } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { pod, sh, WAIT } from '../lifecycle/support.ts';
import { evicted, isEvicted, nodeTells, startAgent } from './support.ts';

const run = promisify(execFile);

/** A folder whose `root` is a file system of its own. */
async function createSmallFolder(sizeMiB: number, inodes: number): Promise<TempDir> {
  const folder = await createTempDir('na-evict-');
  const [image, root] = [`${folder.path}/disk`, `${folder.path}/root`];
  await mkdir(root);
  await writeFile(image, '');
  await truncate(image, sizeMiB * 2 ** 20);
  await run('mkfs.ext4', ['-q', '-m', '0', '-N', String(inodes), image]);
  await run('mount', ['-o', 'loop', image, root]);
  return {
    path: folder.path,
    async [Symbol.asyncDispose]() {
      await run('umount', [root]);
      await folder[Symbol.asyncDispose]();
    },
  };
}

const small = (flag: string, folder: TempDir): Promise<TestAgent> =>
  startAgent({ endpoint: inject('criEndpoint'), folder, flags: [flag] });

const writer = (name: string, script: string): string =>
  pod(name, {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [
      sh('c', `${script}; touch /tmp/done; ${WAIT}`, {
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
        readinessProbe: { exec: { command: ['ls', '/tmp/done'] }, periodSeconds: 1 },
      }),
    ],
  });

/** Who has ended when the disk has room again, and what the greedy one was told. */
async function whoEnds(
  agent: TestAgent,
): Promise<{ readonly names: readonly string[]; readonly message: string }> {
  const { status } = await agent.waitFor('greedy', isEvicted);
  await nodeTells(agent, 'NodeHasDiskPressure');
  await nodeTells(agent, 'NodeHasNoDiskPressure');
  return { names: await evicted(agent), message: status?.message ?? '' };
}

test('the pod that fills the disk ends', async () => {
  const folder = await createSmallFolder(64, 4000);
  await using agent = await small('--eviction-hard=nodefs.available<40%', folder);
  await agent.put('modest.json', writer('modest', 'head -c 5m /dev/zero >/data/x'));
  await agent.waitFor('modest', isReady);
  await agent.put('greedy.json', writer('greedy', 'head -c 40m /dev/zero >/data/x'));
  const { names, message } = await whoEnds(agent);
  expect(names).toEqual(['greedy']);
  expect(message).toMatch(
    /^The node was low on resource: ephemeral-storage\. .* Container c was using \d+\w*, which exceeds its request of 0\.$/,
  );
}, 60_000);

test('the pod that takes the inodes ends', async () => {
  const folder = await createSmallFolder(64, 2000);
  await using agent = await small('--eviction-hard=nodefs.inodesFree<40%', folder);
  await agent.put(
    'modest.json',
    writer('modest', 'cd /data; i=0; while [ $i -lt 100 ]; do i=$((i+1)); : >$i; done'),
  );
  await agent.waitFor('modest', isReady);
  await agent.put(
    'greedy.json',
    writer('greedy', 'cd /data; i=0; while [ $i -lt 1500 ]; do i=$((i+1)); : >$i; done'),
  );
  const { names, message } = await whoEnds(agent);
  expect(names).toEqual(['greedy']);
  expect(message).toMatch(
    /^The node was low on resource: inodes\. Threshold quantity: \d+, available: \d+\.$/,
  );
}, 60_000);
