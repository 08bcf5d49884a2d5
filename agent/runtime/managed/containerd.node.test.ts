import { access, readFile } from 'node:fs/promises';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { startTestContainerd, type TestContainerd } from '../../../testing/containerd.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { eventually } from '../../../testing/wait.ts';
import { ContainerdStartError, startManagedContainerd } from './containerd.ts';
import { buildLocalImages, importImages } from './images.ts';
import { readProcess } from './process.ts';
import { isServing } from './socket-probe.ts';

async function startOne(restart = true): Promise<TestContainerd> {
  const instance = await startTestContainerd({ restart });
  onTestFinished(() => instance.purge());
  return instance;
}

function optionsOf(instance: TestContainerd): Parameters<typeof startManagedContainerd>[0] {
  const { rootDir, stateDir, socketPath } = instance.containerd.layout;
  const networkName = instance.folder.slice('/tmp/'.length);
  return { rootDir, stateDir, socketPath, networkName, log: silentLogger };
}

describe('startManagedContainerd', () => {
  test('serves CRI in a session of its own', async () => {
    const instance = await startOne();
    expect(await isServing(instance.socketPath)).toBe(true);
    const pid = instance.containerd.pid;
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    const session = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]);
    expect(session).toBe(pid);
  });

  test('adopts the instance that an earlier one left running', async () => {
    const instance = await startOne();
    const { pid } = instance.containerd;
    instance.containerd.release();
    const second = await startManagedContainerd(optionsOf(instance));
    expect({ pid: second.pid, adopted: second.adopted }).toEqual({ pid, adopted: true });
    second.release();
  });

  test.each([
    ['started', false],
    ['adopted', true],
  ])('starts a killed instance again that was %s', async (_, adopt) => {
    const instance = await startOne();
    let { containerd } = instance;
    if (adopt) {
      containerd.release();
      containerd = await startManagedContainerd(optionsOf(instance));
    }
    const { pid } = containerd;
    const exit = new Promise((resolve) => containerd.onExit(resolve));
    process.kill(pid ?? 0, 'SIGKILL');
    expect(await exit).toMatchObject({ pid });
    const next = await eventually(() => containerd.pid);
    expect(next).not.toBe(pid);
    expect(await isServing(instance.socketPath)).toBe(true);
    containerd.release();
  });

  test('replaces an instance whose configuration changed', async () => {
    const instance = await startOne();
    const { pid } = instance.containerd;
    instance.containerd.release();
    const second = await startManagedContainerd({ ...optionsOf(instance), sandboxImage: 'local/other:1' });
    expect(second.adopted).toBe(false);
    expect(await readProcess(pid ?? 0)).toBeUndefined();
    second.release();
  });

  test('stops the instance and removes its pid file and socket', async () => {
    const instance = await startOne();
    const { pid, layout } = instance.containerd;
    await instance.containerd.stop();
    expect(await readProcess(pid ?? 0)).toBeUndefined();
    await expect(access(layout.pidPath)).rejects.toThrow('ENOENT');
    await expect(access(layout.socketPath)).rejects.toThrow('ENOENT');
  });

  test('rejects a socket that another process serves', async () => {
    await using dir = await createTempDir();
    const socketPath = inject('criEndpoint').replace('unix://', '');
    const start = startManagedContainerd({
      rootDir: `${dir.path}/root`,
      stateDir: `${dir.path}/state`,
      socketPath,
      log: silentLogger,
    });
    await expect(start).rejects.toThrow(ContainerdStartError);
  });
});

describe('importImages', () => {
  test('skips images with unchanged content', async () => {
    const instance = await startOne();
    const images = await buildLocalImages();
    expect(await importImages(images, { socketPath: instance.socketPath, log: silentLogger })).toEqual([]);
  });
});
