/** Images and layers of containers on a disk of their own that fills up. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { isReady, type TestAgent } from '../../testing/agent.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { eventually } from '../../testing/wait.ts';
import { pod, sh, WAIT } from '../lifecycle/support.ts';
import { evicted, isEvicted, nodeTells, startAgent } from './support.ts';

let containerd: TestContainerd;
let agent: TestAgent;
beforeAll(async () => {
  containerd = await startTestContainerd({ diskMiB: 64 });
  const content = randomBytes(12 * 2 ** 20);
  const entries = [{ kind: 'file', path: 'filler', mode: 0o644, content }] as const;
  // Once packed and once unpacked: more than a third of the disk.
  await containerd.load([buildImageArchive({ name: 'docker.io/local/filler:1', entries })]);
  agent = await startAgent({
    endpoint: containerd.endpoint,
    flags: ['--eviction-hard=imagefs.available<60%'],
  });
});
afterAll(async () => {
  await agent?.[Symbol.asyncDispose]();
  await containerd?.purge();
});

async function hasFiller(): Promise<boolean> {
  const connection = connectRuntime({ endpoint: containerd.endpoint, log: silentLogger });
  const { images } = await connection.images.listImages({});
  connection.close();
  return images.some(({ repoTags }) => repoTags.some((tag) => tag.includes('filler')));
}

test('an unused image goes first, and no pod where that is enough', async () => {
  await nodeTells(agent, 'NodeHasDiskPressure');
  await eventually(async () => !(await hasFiller()), { timeoutMs: 20_000, what: 'the image goes' });
  await nodeTells(agent, 'NodeHasNoDiskPressure');
  expect(await evicted(agent)).toEqual([]);
});

test('the pod whose container fills its own layer ends', async () => {
  const writer = (name: string, mebibytes: number): string =>
    pod(name, { containers: [sh('c', `head -c ${mebibytes}m /dev/urandom >/x; ${WAIT}`)] });
  // Nobody used those of the tests either.
  await containerd.load(await buildLocalImages());
  await agent.put('modest.json', writer('modest', 1));
  await agent.waitFor('modest', isReady);
  await agent.put('greedy.json', writer('greedy', 40));
  const { status } = await agent.waitFor('greedy', isEvicted, 30_000);
  expect(status?.message).toMatch(/^The node was low on resource: ephemeral-storage\./);
  expect(await evicted(agent)).toEqual(['greedy']);
  expect((await agent.pod('modest'))?.status?.phase).toBe('Running');
}, 60_000);
