/** Writes directories, configuration and pod network of a managed containerd before its start. */

import { mkdir, readFile, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode } from '#api/kit/errno.ts';
import { renderContainerdConfig } from './config.ts';
import type { ContainerdLayout } from './layout.ts';
import { bridgeName, choicesOfConflist, chooseSubnet, parseRoutes, renderConflist } from './network.ts';
import { networkRecordPath } from './network-record.ts';
import { mayLowerOomScore, type RuntimePrograms } from './programs.ts';

export interface PrepareOptions {
  readonly layout: ContainerdLayout;
  readonly programs: RuntimePrograms;
  /** Names the pod network and, by a hash, its bridge. */
  readonly networkName: string;
  readonly sandboxImage: string;
  readonly systemdCgroup: boolean;
  /** Directory of registry settings; see the containerd configuration. */
  readonly registryDir?: string | undefined;
}

/** A larger log is rotated at start, in bytes. */
const LARGE_LOG_BYTES = 8 * 1024 * 1024;

/** Creates directories and files. Idempotent.
 *  @returns whether the configuration has changed */
export async function prepareContainerd(options: PrepareOptions): Promise<boolean> {
  const { layout } = options;
  for (const folder of [layout.rootDir, layout.stateDir, layout.cniConfDir, layout.leaseDir]) {
    await mkdir(folder, { recursive: true, mode: 0o711 });
  }
  await mkdir(dirname(layout.socketPath), { recursive: true, mode: 0o711 });
  await setLargeLogAside(layout.logPath);
  await writeNetwork(layout, options.networkName);
  return replaceFile(
    layout.configPath,
    renderContainerdConfig({
      dataDir: layout.dataDir,
      runDir: layout.runDir,
      socketPath: layout.socketPath,
      sandboxImage: options.sandboxImage,
      runcPath: options.programs.runc,
      cniBinDir: options.programs.cniBinDir,
      cniConfDir: layout.cniConfDir,
      restrictOomScoreAdj: !(await mayLowerOomScore()),
      systemdCgroup: options.systemdCgroup,
      registryDir: options.registryDir,
    }),
  );
}

/** The choices of an earlier run are retained: running pods have addresses in the subnet, and the agent may have
 *  changed the rest. */
async function writeNetwork(layout: ContainerdLayout, name: string): Promise<void> {
  const bridge = bridgeName(name);
  const existing = choicesOfConflist((await readText(layout.conflistPath)) ?? '');
  const { subnets, hairpinMode } = existing ?? {
    subnets: [chooseSubnet(name, bridge, parseRoutes((await readText('/proc/net/route')) ?? ''))],
    hairpinMode: 'promiscuous-bridge',
  };
  const { leaseDir, conflistPath } = layout;
  await replaceFile(conflistPath, renderConflist({ name, bridge, subnets, hairpinMode, leaseDir }));
  const record = JSON.stringify({ name, bridge, conflistPath, leaseDir });
  await replaceFile(networkRecordPath(layout.socketPath), `${record}\n`);
}

/** Writes the file atomically unless it has this text already; returns whether it wrote. */
export async function replaceFile(path: string, text: string): Promise<boolean> {
  if ((await readText(path)) === text) return false;
  await writeFile(`${path}.new`, text, { mode: 0o644 });
  await rename(`${path}.new`, path);
  return true;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT')) return undefined;
    throw thrown;
  }
}

async function setLargeLogAside(path: string): Promise<void> {
  try {
    if ((await stat(path)).size > LARGE_LOG_BYTES) await rename(path, `${path}.1`);
  } catch (thrown) {
    if (!hasCode(thrown, 'ENOENT')) throw thrown;
  }
}

/** Removes the file if it exists. */
export async function removeFile(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (thrown) {
    if (!hasCode(thrown, 'ENOENT')) throw thrown;
  }
}
