/** Removes a managed containerd with everything that it ran: pods, processes, cgroups, mounts, network,
 *  directories.
 *  Works from the state of the machine alone, so it also cleans up after a crashed instance. */

import { execFile } from 'node:child_process';
import { readFile, rm, rmdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { PodSandbox, RuntimeService } from '#cri/gen/cri-v1.ts';
import { cgroupFolders } from './cgroup-paths.ts';
import type { ContainerdLayout } from './layout.ts';
import { mountPointsUnder } from './mounts.ts';
import { bridgeName } from './network.ts';
import { networkRecordPath } from './network-record.ts';
import { isContainerdOf, isShimOf, listProcesses, type ProcessImage, withDescendants } from './process.ts';

const run = promisify(execFile);

export type SandboxRemover = Pick<RuntimeService, 'listPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>;

export interface PurgeDeps {
  readonly log: Logger;
  /** The running instance, which removes its pods first, so that the network plugins undo their rules. */
  readonly runtime?: SandboxRemover;
}

export interface PurgeOptions {
  readonly layout: ContainerdLayout;
  readonly networkName: string;
}

/** Concurrent pod removals. */
const REMOVALS_AT_ONCE = 4;
/** Attempts for a cgroup or a mount that is still busy with exiting processes. */
const TRIES = 200;
const TRY_AFTER_MS = 25;

/** Idempotent. Failures are logged, and collected in the error at the end.
 *  @throws AggregateError */
export async function purgeContainerd(deps: PurgeDeps, options: PurgeOptions): Promise<void> {
  const { layout } = options;
  const errors: Error[] = [];
  const attempt = async (what: string, step: () => Promise<void>): Promise<void> => {
    try {
      await step();
    } catch (thrown) {
      deps.log.warn({ err: asError(thrown), what }, 'Cleanup step failed');
      errors.push(new Error(`${what} failed`, { cause: thrown }));
    }
  };
  await removePodsProperly(deps);
  await attempt('stopping processes', () => endEverything(layout));
  await attempt('unmounting', () => unmountUnder([layout.stateDir, layout.rootDir]));
  await attempt('removing the bridge', () => removeBridge(bridgeName(options.networkName)));
  await attempt('removing directories', async () => {
    await rm(layout.stateDir, { recursive: true, force: true });
    await rm(layout.rootDir, { recursive: true, force: true });
    await rm(layout.socketPath, { force: true });
    await rm(`${layout.socketPath}.ttrpc`, { force: true });
    await rm(networkRecordPath(layout.socketPath), { force: true });
  });
  if (errors.length > 0)
    throw new AggregateError(errors, 'the managed containerd was not removed completely');
}

/** A runtime that has lost its state cannot remove every pod. The steps that follow remove the same pods from
 *  the machine; only the address translation rules of such a pod are left. */
async function removePodsProperly({ runtime, log }: PurgeDeps): Promise<void> {
  if (runtime === undefined) return;
  try {
    await removeSandboxes(runtime);
  } catch (thrown) {
    log.warn({ err: asError(thrown) }, 'Failed to remove pods through their runtime; removing their remains');
  }
}

/** Stops and removes the selected pod sandboxes with their containers, all unless given; returns their
 *  number.
 *  @throws AggregateError after the others were removed, naming each that was not */
export async function removeSandboxes(
  runtime: SandboxRemover,
  isWanted: (sandbox: PodSandbox) => boolean = () => true,
): Promise<number> {
  const { items } = await runtime.listPodSandbox({});
  const queue = items.filter(isWanted).map((sandbox) => sandbox.id);
  const total = queue.length;
  const errors: Error[] = [];
  const worker = async (): Promise<void> => {
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      try {
        await runtime.stopPodSandbox({ podSandboxId: id });
        await runtime.removePodSandbox({ podSandboxId: id });
      } catch (cause) {
        errors.push(new Error(`pod sandbox ${id} was not removed`, { cause }));
      }
    }
  };
  await Promise.all(Array.from({ length: REMOVALS_AT_ONCE }, worker));
  if (errors.length > 0)
    throw new AggregateError(errors, `${errors.length} of ${total} pods were not removed`);
  return total;
}

/** Reports whether the instance, or a shim of it, runs. */
export async function isAlive(layout: ContainerdLayout): Promise<boolean> {
  const all = await listProcesses();
  return all.some((each) => isContainerdOf(each, layout.configPath) || isShimOf(each, layout.socketPath));
}

/** Kills containerd, its shims and their containers, and removes the cgroups of the containers. */
async function endEverything(layout: ContainerdLayout): Promise<void> {
  const all = await listProcesses();
  const daemons = all.filter((process) => isContainerdOf(process, layout.configPath));
  const shims = all.filter((process) => isShimOf(process, layout.socketPath));
  const contained = withDescendants(shims, all).filter((process) => !shims.includes(process));
  const cgroups = new Set((await Promise.all(contained.map(cgroupsOf))).flat());
  // The daemon first: it would clean up after the others otherwise.
  for (const process of [...daemons, ...contained, ...shims]) kill(process);
  for (const folder of cgroups) await removeCgroup(folder);
}

function kill(target: ProcessImage): void {
  try {
    process.kill(target.pid, 'SIGKILL');
  } catch (thrown) {
    if (!hasCode(thrown, 'ESRCH')) throw thrown;
  }
}

async function cgroupsOf(target: ProcessImage): Promise<readonly string[]> {
  try {
    const folders = cgroupFolders(await readFile(`/proc/${target.pid}/cgroup`, 'utf8'));
    // A container without its own cgroup shares that of its shim; only directories named by a container ID
    // belong to it.
    return folders.filter((folder) => /[0-9a-f]{64}(?:\.scope)?$/.test(folder));
  } catch {
    // It has exited meanwhile.
    return [];
  }
}

async function removeCgroup(folder: string): Promise<void> {
  await retryWhileBusy(async () => {
    try {
      await rmdir(folder);
    } catch (thrown) {
      if (!hasCode(thrown, 'ENOENT')) throw thrown;
    }
  });
}

/** Unmounts everything below the directories, repeatedly until no stacked mount is left. */
export async function unmountUnder(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const points = mountPointsUnder(await readFile('/proc/self/mountinfo', 'utf8'), folder);
    for (const point of points) await retryWhileBusy(() => unmount(point));
  }
}

async function unmount(point: string): Promise<void> {
  try {
    await run('umount', [point]);
  } catch (thrown) {
    // Another process may have unmounted it first.
    const left = mountPointsUnder(await readFile('/proc/self/mountinfo', 'utf8'), point);
    if (left.includes(point)) throw thrown;
  }
}

/** Removes the interface if it exists. */
export async function removeBridge(bridge: string): Promise<void> {
  try {
    await run('ip', ['link', 'delete', bridge, 'type', 'bridge']);
  } catch (thrown) {
    if (!/Cannot find device/.test(asError(thrown).message)) throw thrown;
  }
}

async function retryWhileBusy(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await step();
    } catch (thrown) {
      if (attempt >= TRIES) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, TRY_AFTER_MS));
    }
  }
}
