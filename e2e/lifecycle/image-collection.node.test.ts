/** Image garbage collection: deleted and retained images, and the report if that does not free enough space. */
import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildImageArchive, type ImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { TestAgent } from '../../testing/agent.ts';
import { startTestContainerd, type TestContainerd } from '../../testing/containerd.ts';
import { eventually } from '../../testing/wait.ts';
import { isRunning, pod, sh, WAIT } from './support.ts';

const MIB = 1024 * 1024;

/** Stored packed and unpacked, it uses twice its size. */
const filler = (name: string, sizeMiB: number): ImageArchive =>
  buildImageArchive({
    name: `docker.io/local/${name}:1`,
    entries: [{ kind: 'file', path: 'filler', mode: 0o644, content: randomBytes(sizeMiB * MIB) }],
  });

let containerd: TestContainerd;
let connection: CriConnection;
let agent: TestAgent;

beforeAll(async () => {
  containerd = await startTestContainerd({ diskMiB: 64 });
  await containerd.load([...['a', 'b', 'c'].map((name) => filler(name, 6)), filler('wanted', 3)]);
  connection = connectRuntime({ endpoint: containerd.endpoint, log: silentLogger });
  agent = await TestAgent.create({ endpoint: containerd.endpoint, start: false });
});

afterAll(async () => {
  await agent?.stop();
  await agent?.[Symbol.asyncDispose]();
  connection?.close();
  await containerd?.purge();
});

async function names(): Promise<readonly string[]> {
  const { images } = await connection.images.listImages({});
  return images.flatMap(({ repoTags }) => repoTags.map((tag) => tag.replace('docker.io/local/', ''))).sort();
}

/** In percent, by the agent's formula. */
async function used(): Promise<number> {
  const { blocks, bavail } = await statfs(`${containerd.folder}/root`);
  return ((blocks - bavail) / blocks) * 100;
}

const nodeEvent = (reason: string) =>
  eventually(
    async () => {
      const found = (await agent.events()).find(
        (event) => event.reason === reason && event.involvedObject?.kind === 'Node',
      );
      return found?.message;
    },
    { timeoutMs: 20_000, what: reason },
  );

test('unused images are deleted until the disk has space; those of pods and sandboxes stay', async () => {
  expect(await used()).toBeGreaterThan(70);
  // No container uses the second image yet.
  const containers = [
    sh('c', WAIT),
    { name: 'd', image: 'local/wanted:1', imagePullPolicy: 'Never', command: ['/none'] } as const,
  ];
  await agent.put('user.json', pod('user', { containers }));
  await agent.start(['--image-gc-high-threshold=70', '--image-gc-low-threshold=60']);
  await agent.waitFor('user', isRunning('c'));
  await eventually(async () => (await used()) < 60, { timeoutMs: 20_000, what: 'images go' });
  const left = await names();
  expect(left).toEqual(expect.arrayContaining(['busybox:1', 'pause:1', 'wanted:1']));
  // Two are enough: no more are deleted.
  expect(left.filter((name) => /^[abc]:/.test(name)).length).toBeGreaterThan(0);
  // Written after the space has been freed.
  await eventually(async () => (await agent.log()).includes('Unused image removed'));
});

test('a failure to free enough space is reported on the node', async () => {
  await agent.stop();
  await agent.start(['--image-gc-high-threshold=1', '--image-gc-low-threshold=0']);
  expect(await nodeEvent('FreeDiskSpaceFailed')).toMatch(
    /^failed to garbage collect required amount of images. Wanted to free \d+ bytes, but freed \d+ bytes$/,
  );
  expect(await names()).toEqual(['busybox:1', 'pause:1', 'wanted:1']);
  await agent.waitFor('user', isRunning('c'));
});
