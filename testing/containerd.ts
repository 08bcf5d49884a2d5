/** A private containerd for tests that stop, kill or restart it; other tests share the run's one:
 *  `inject('criEndpoint')`, see containerd-setup.ts. */
import { rm } from 'node:fs/promises';
import { type ManagedContainerd, startManagedContainerd } from '#agent/runtime/managed/containerd.ts';
import type { ImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import { purgeContainerd } from '#agent/runtime/managed/purge.ts';
import { isServing } from '#agent/runtime/managed/socket-probe.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { connectRuntime } from '#cri/client/connection.ts';
import { createTempDir } from './temp.ts';

export interface TestContainerd extends AsyncDisposable {
  /** `unix://…` */
  readonly endpoint: string;
  readonly socketPath: string;
  /** Folder that holds everything of it; a test may add files. */
  readonly folder: string;
  /** The instance; it restarts by itself when killed unless `restart: false` was given. */
  readonly containerd: ManagedContainerd;
  /** Imports further images. */
  load(images: readonly ImageArchive[]): Promise<void>;
  /** Removes its pods, processes, cgroups, mounts, network and folders. */
  purge(): Promise<void>;
}

export interface TestContainerdOptions {
  readonly restart?: boolean;
  readonly log?: Logger;
}

/** Starts it with `local/pause:1` and `local/busybox:1` loaded. */
export async function startTestContainerd(options: TestContainerdOptions = {}): Promise<TestContainerd> {
  const log = options.log ?? silentLogger;
  const { path: folder } = await createTempDir();
  const networkName = folder.slice('/tmp/'.length);
  const socketPath = `${folder}/c.sock`;
  const containerd = await startManagedContainerd({
    rootDir: `${folder}/root`,
    stateDir: `${folder}/state`,
    socketPath,
    networkName,
    log,
    restart: options.restart ?? true,
  });

  async function load(images: readonly ImageArchive[]): Promise<void> {
    await importImages(images, { socketPath, log });
  }

  async function purge(): Promise<void> {
    containerd.release();
    const connection = (await isServing(socketPath))
      ? connectRuntime({ endpoint: containerd.endpoint, log })
      : undefined;
    const runtime = connection === undefined ? {} : { runtime: connection.runtime };
    await connection?.whenConnected();
    try {
      await purgeContainerd({ log, ...runtime }, { layout: containerd.layout, networkName });
    } finally {
      connection?.close();
    }
    await rm(folder, { recursive: true, force: true });
  }

  try {
    await load(await buildLocalImages());
  } catch (thrown) {
    await purge();
    throw thrown;
  }
  return {
    endpoint: containerd.endpoint,
    socketPath,
    folder,
    containerd,
    load,
    purge,
    [Symbol.asyncDispose]: purge,
  };
}
