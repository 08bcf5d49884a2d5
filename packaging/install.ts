/** `nodeagent install` and `nodeagent uninstall`: puts program, units and configuration in place and starts them,
 *  and takes them away again. Both are safe to repeat. */
import { access, copyFile, mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { leaveCluster } from '#agent/join/leave.ts';
import { findProgram, findRuntimePrograms } from '#agent/runtime/managed/programs.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import type { Logger } from '#api/kit/logger.ts';
import { restartAgent, restartDeps } from './agent-unit.ts';
import {
  AGENT_UNIT,
  CONTAINERD_UNIT,
  INSTALLED_CONTAINERD,
  type InstallPaths,
  installPaths,
  PODS_UNIT,
} from './paths.ts';
import { removePodCgroups } from './pod-cgroups.ts';
import { commandScript, copyProgram } from './program.ts';
import type { Systemctl } from './systemctl.ts';

export interface InstallDeps {
  readonly systemctl: Systemctl;
  readonly log: Logger;
  readonly say: (text: string) => void;
}

export interface InstallOptions {
  /** Folder with the sources and node_modules to install from. */
  readonly repository: string;
  /** Where to put everything; nothing is started unless it is `/`. */
  readonly root: string;
  /** `unix://…` of a runtime that is already there; undefined installs a private containerd. */
  readonly endpoint: string | undefined;
  readonly start: boolean;
}

export interface UninstallOptions {
  /** Folder with the configuration that `install` puts, to know it again. */
  readonly repository: string;
  readonly root: string;
  /** Also removes configuration, manifests, images and everything else that was stored. */
  readonly purge: boolean;
}

const ALL_UNITS = [AGENT_UNIT, PODS_UNIT, CONTAINERD_UNIT];

/** @throws MissingProgramError before anything is touched
 *  @throws SystemctlError when a unit does not start */
export async function install(deps: InstallDeps, options: InstallOptions): Promise<void> {
  const paths = installPaths(options.root);
  const units = options.endpoint === undefined ? ALL_UNITS : [AGENT_UNIT];
  if (options.endpoint === undefined) await requirePrograms();
  await copyProgram(options.repository, paths.program);
  await writeExecutable(paths.command, commandScript(installPaths().program));
  deps.say(`program: ${paths.program}, command: ${paths.command}`);
  await writeConfiguration(paths, options);
  deps.say(`configuration: ${paths.config}, manifests: ${paths.manifests}`);
  await mkdir(paths.units, { recursive: true, mode: 0o755 });
  for (const unit of units) {
    await copyFile(join(options.repository, 'packaging', 'systemd', unit), join(paths.units, unit));
  }
  deps.say(`units: ${units.map((unit) => join(paths.units, unit)).join(', ')}`);
  await deps.systemctl([...rootFlag(options.root), 'enable', ...units]);
  if (options.root !== '/' || !options.start) return;
  await deps.systemctl(['daemon-reload']);
  // The agent last, and by restart: an older one that runs is replaced, its pods are not.
  for (const unit of units.toReversed()) {
    if (unit !== AGENT_UNIT) await deps.systemctl(['start', unit]);
    else await restartAgent(restartDeps(deps));
  }
  deps.say('started; look at it with: nodeagent ps, systemctl status nodeagent, journalctl -u nodeagent');
}

async function requirePrograms(): Promise<void> {
  await Promise.all([
    findRuntimePrograms(),
    findProgram('catatonit', 'catatonit'),
    findProgram('busybox', 'busybox-static'),
  ]);
}

/** A configuration that is there is kept: it is the user's. */
async function writeConfiguration(paths: InstallPaths, options: InstallOptions): Promise<void> {
  await mkdir(paths.configDir, { recursive: true, mode: 0o755 });
  // Environment variables in manifests may be secrets.
  await mkdir(paths.manifests, { recursive: true, mode: 0o700 });
  if (!(await isThere(paths.config))) {
    const text = await readFile(join(options.repository, 'packaging', 'config.yaml'));
    await writeFile(paths.config, text, { mode: 0o600 });
  }
  if (options.endpoint === undefined) return;
  await mkdir(dirname(paths.defaults), { recursive: true });
  await writeFile(paths.defaults, `NODEAGENT_RUNTIME_ENDPOINT=${options.endpoint}\n`, { mode: 0o644 });
}

/** Ends the agent and its pods, then removes what `install` put.
 *  @throws SystemctlError, AggregateError */
export async function uninstall(deps: InstallDeps, options: UninstallOptions): Promise<void> {
  const paths = installPaths(options.root);
  const units = (await listFolder(paths.units)).filter((name) => ALL_UNITS.includes(name));
  if (units.length > 0) {
    await deps.systemctl([...rootFlag(options.root), 'disable', ...units]);
    if (options.root === '/') await stopUnits(deps, units);
  }
  if (options.root === '/') await removePodCgroups(deps, { note: paths.podsCgroupNote });
  if (options.root === '/' && options.purge && units.includes(CONTAINERD_UNIT)) {
    await removeManagedContainerd({ ...INSTALLED_CONTAINERD, log: deps.log });
  }
  for (const unit of units) await rm(join(paths.units, unit), { force: true });
  if (options.root === '/' && units.length > 0) await deps.systemctl(['daemon-reload']);
  const original = await readFile(join(options.repository, 'packaging', 'config.yaml'), 'utf8');
  await leaveCluster(paths.config, deps.say);
  await rm(paths.program, { recursive: true, force: true });
  await rm(paths.command, { force: true });
  await rm(paths.shutdownDelay, { force: true });
  await removeConfiguration(paths, options, original);
  const kept = (await isThere(paths.configDir)) ? `; kept: ${paths.configDir}` : '';
  deps.say(options.purge ? 'removed, with configuration and data' : `removed${kept}`);
}

/** Stopping the pods' unit stops the pods, so it comes after the agent and before containerd. */
async function stopUnits(deps: InstallDeps, units: readonly string[]): Promise<void> {
  for (const unit of ALL_UNITS.filter((name) => units.includes(name))) {
    await deps.systemctl(['stop', unit]);
  }
  deps.say('agent, pods and containerd stopped');
}

async function removeConfiguration(
  paths: InstallPaths,
  options: UninstallOptions,
  original: string,
): Promise<void> {
  if (options.purge) {
    for (const path of [paths.configDir, paths.defaults, ...paths.data]) {
      await rm(path, { recursive: true, force: true });
    }
    return;
  }
  // A configuration that nobody changed is ours, any other is the user's.
  if ((await readText(paths.config)) === original) await rm(paths.config);
  if (isOnlyEndpoint(await readText(paths.defaults))) await rm(paths.defaults);
  await removeIfEmpty(paths.manifests);
  await removeIfEmpty(paths.configDir);
}

/** Whether a defaults file says no more than `install` wrote. */
function isOnlyEndpoint(text: string): boolean {
  return /^NODEAGENT_RUNTIME_ENDPOINT=.*\n$/.test(text);
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}

async function removeIfEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch {
    // It holds manifests, which are the user's, or is gone already.
  }
}

function rootFlag(root: string): readonly string[] {
  return root === '/' ? [] : [`--root=${root}`];
}

async function writeExecutable(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // A new file rather than the old one rewritten: that may be running.
  await rm(path, { force: true });
  await writeFile(path, text, { mode: 0o755 });
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function listFolder(path: string): Promise<readonly string[]> {
  return readdir(path).catch(() => []);
}
