/** A private containerd for tests that stop, kill or restart it; other tests share that of the run:
 *  `inject('criEndpoint')`, see containerd-setup.ts. */
import { execFile } from 'node:child_process';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ManagedContainerd, startManagedContainerd } from '#agent/runtime/managed/containerd.ts';
import type { ImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import { type Logger, silentLogger } from '#api/kit/logger.ts';
import { containerdIn } from './abandoned.ts';
import { createTempDir } from './temp.ts';

export interface TestContainerd extends AsyncDisposable {
  /** `unix://…` */
  readonly endpoint: string;
  readonly socketPath: string;
  /** Directory of all its files; a test may add some. */
  readonly folder: string;
  /** The instance; it restarts automatically when killed unless `restart: false` was given. */
  readonly containerd: ManagedContainerd;
  /** Starts it again on the same directories after it exited; for instances with `restart: false`. */
  startAgain(): Promise<void>;
  /** Imports further images. */
  load(images: readonly ImageArchive[]): Promise<void>;
  /** Removes its pods, processes, cgroups, mounts, network and directories. */
  purge(): Promise<void>;
}

export interface TestContainerdOptions {
  readonly restart?: boolean;
  readonly log?: Logger;
  /** Size in MiB of a private disk in memory for images and containers. The machine's disk by default. */
  readonly diskMiB?: number;
  /** Serves registry settings from the directory `certs.d` of its folder. */
  readonly registries?: boolean;
}

/** The purge unmounts it together with the mounts inside. */
async function mountDisk(dir: string, sizeMiB: number): Promise<void> {
  await mkdir(dir, { recursive: true });
  await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m,mode=711`, 'none', dir]);
}

/** Starts it with `local/pause:1` and `local/busybox:1` loaded. */
export async function startTestContainerd(options: TestContainerdOptions = {}): Promise<TestContainerd> {
  const log = options.log ?? silentLogger;
  const { path: folder } = await createTempDir();
  const location = containerdIn(folder);
  const { networkName, socketPath } = location;
  const managed = {
    ...location,
    log,
    restart: options.restart ?? true,
    ...(options.registries === true ? { registryDir: join(folder, 'certs.d') } : {}),
  };
  if (options.diskMiB !== undefined) await mountDisk(managed.rootDir, options.diskMiB);
  const containerd = await startManagedContainerd(managed);
  const later: ManagedContainerd[] = [];

  async function load(images: readonly ImageArchive[]): Promise<void> {
    await importImages(images, { socketPath, log });
  }

  let purged = false;
  async function purge(): Promise<void> {
    if (purged) return;
    purged = true;
    for (const instance of [containerd, ...later]) instance.release();
    await removeManagedContainerd({ ...containerd.layout, networkName, log });
    // Exiting programs write their compile cache there.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
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
    async startAgain() {
      later.push(await startManagedContainerd(managed));
    },
    load,
    purge,
    [Symbol.asyncDispose]: purge,
  };
}
