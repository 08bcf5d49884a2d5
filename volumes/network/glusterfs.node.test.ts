import { readFileSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import type { VolumeHost } from '../contract/volume-manager.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { type GlusterServer, startGluster } from './gluster.fixture.ts';

const never = new AbortController().signal;
let server: GlusterServer;

beforeAll(async () => {
  server = await startGluster();
}, 60_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function createNode(): Promise<TestHost & { readonly served: VolumeHost }> {
  const node = await createTestHost();
  node.endpoints.set('default/gluster', { subsets: [{ addresses: [{ ip: server.address }] }] });
  return { ...node, served: { ...node.host, run: createRunProgram() } };
}

const volumeAt = (path: string): Volume => ({ name: 'data', glusterfs: { endpoints: 'gluster', path } });

it('is mounted for pods, found again by another process, and unmounted', async () => {
  await using node = await createNode();
  const pod = testPod('uid-1', [volumeAt(server.volume)]);
  const ready = (await createVolumeManager(node.served).mountPod(pod, never)).get('data');
  writeFileSync(join(ready?.hostPath ?? '', 'hello'), 'from the pod');
  expect(readFileSync(join(server.brick, 'hello'), 'utf8')).toBe('from the pod');
  const mounted = await node.mounts();
  expect(mounted.map(({ fsType }) => fsType)).toEqual(['fuse.glusterfs']);

  const restarted = createVolumeManager(node.served);
  await restarted.mountPod(pod, never);
  expect(await node.mounts()).toEqual(mounted);

  const other = testPod('uid-2', [volumeAt(server.volume)]);
  const shared = (await restarted.mountPod(other, never)).get('data');
  expect(readFileSync(join(shared?.hostPath ?? '', 'hello'), 'utf8')).toBe('from the pod');

  await restarted.unmountPod('uid-1');
  await restarted.unmountPod('uid-2');
  expect(await node.mounts()).toEqual([]);
  expect(await readdir(join(node.rootDir, 'pods'))).toEqual([]);
  expect(readFileSync(join(server.brick, 'hello'), 'utf8')).toBe('from the pod');
});

it('reports why a volume cannot be mounted, and leaves nothing behind', async () => {
  await using node = await createNode();
  const manager = createVolumeManager(node.served);
  const pod = testPod('uid-1', [volumeAt(`${server.volume}-none`)]);
  await expect(manager.mountPod(pod, never)).rejects.toThrow(
    /failed to mount .*: mount\.glusterfs exited.*log: /,
  );
  expect(await node.mounts()).toEqual([]);
  await manager.unmountPod('uid-1');
});
