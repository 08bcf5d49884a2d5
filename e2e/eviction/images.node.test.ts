/** Disk pressure on a separate disk of images and container layers. */
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import type { TestAgent } from '../../testing/agent.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { pod, sh, WAIT } from '../lifecycle/support.ts';
import { evicted, MODEST, takesIt, whoEndsBesideImage, YOUNG_IMAGES_FLAG } from './shortages.ts';
import { isEvicted, shortNode, startAgent } from './support.ts';

let containerd: TestContainerd;
let agent: TestAgent;
beforeAll(async () => {
  containerd = await startTestContainerd({ diskMiB: 64 });
  agent = await startAgent({
    endpoint: containerd.endpoint,
    flags: [YOUNG_IMAGES_FLAG, '--eviction-hard=imagefs.available<50%'],
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
  await takesIt(shortNode(agent), MODEST);
  const content = randomBytes(8 * 2 ** 20);
  const entries = [{ kind: 'file', path: 'filler', mode: 0o644, content }] as const;
  // Stored packed and unpacked. Alone it does not exceed the threshold, or pods might be evicted during the
  // pull.
  await containerd.load([buildImageArchive({ name: 'docker.io/local/filler:1', entries })]);
  const rest = `${containerd.folder}/root/rest`;
  const fill = (): Promise<void> => writeFile(rest, randomBytes(14 * 2 ** 20));
  expect(await whoEndsBesideImage(shortNode(agent), fill, hasFiller)).toEqual([]);
  expect((await agent.pod(MODEST.name))?.status?.phase).toBe('Running');
  await rm(rest);
});

test('the pod whose container fills its own layer ends', async () => {
  const writer = (name: string, mebibytes: number): string =>
    pod(name, { containers: [sh('c', `head -c ${mebibytes}m /dev/urandom >/x; ${WAIT}`)] });
  await agent.apply(writer('greedy', 40));
  const { status } = await agent.waitFor('greedy', isEvicted, 30_000);
  expect(status?.message).toMatch(/^The node was low on resource: ephemeral-storage\./);
  expect(await evicted(shortNode(agent))).toEqual(['greedy']);
  expect((await agent.pod('modest'))?.status?.phase).toBe('Running');
}, 60_000);
