/** `nodeagent install` and `nodeagent uninstall`: install program, units and configuration and start them, or
 *  remove them. Both are idempotent. */
import { access, copyFile, mkdir, readdir, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { leaveCluster } from '#agent/join/leave.ts';
import { findProgram, findRuntimePrograms } from '#agent/runtime/managed/programs.ts';
import { removeManagedContainerd } from '#agent/runtime/managed/remove.ts';
import { commandScript, copyProgram } from '#api/kit/install/program.ts';
import type { Systemctl } from '#api/kit/install/systemctl.ts';
import type { Logger } from '#api/kit/logger.ts';
import { restartAgent, restartDeps } from './agent-unit.ts';
import { removePacketRules } from './packet-rules.ts';
import {
  AGENT_PROGRAM,
  AGENT_UNIT,
  CONTAINERD_UNIT,
  INSTALLED_CONTAINERD,
  type InstallPaths,
  installPaths,
  PODS_UNIT,
} from './paths.ts';
import { removePodCgroups } from './pod-cgroups.ts';

export interface InstallDeps {
  readonly systemctl: Systemctl;
  readonly log: Logger;
  readonly say: (text: string) => void;
}

export interface InstallOptions {
  /** Directory with the sources and node_modules to install from. */
  readonly repository: string;
  /** Installation root; nothing is started unless it is `/`. */
  readonly root: string;
  /** `unix://…` of an existing runtime; undefined installs a private containerd. */
  readonly endpoint: string | undefined;
  readonly start: boolean;
}

export interface UninstallOptions {
  /** Directory with the configuration that `install` writes, to recognize an unchanged one. */
  readonly repository: string;
  readonly root: string;
  /** Also removes configuration, manifests, images and all other stored data. */
  readonly purge: boolean;
}

const ALL_UNITS = [AGENT_UNIT, PODS_UNIT, CONTAINERD_UNIT];

/** @throws MissingProgramError before anything is changed
 *  @throws SystemctlError when a unit does not start */
export async function install(deps: InstallDeps, options: InstallOptions): Promise<void> {
  const paths = installPaths(options.root);
  const units = options.endpoint === undefined ? ALL_UNITS : [AGENT_UNIT];
  if (options.endpoint === undefined) await requirePrograms();
  await copyProgram(options.repository, paths.program, AGENT_PROGRAM);
  await writeExecutable(paths.command, commandScript(installPaths().program, AGENT_PROGRAM));
  deps.say(`program: ${paths.program}, command: ${paths.command}`);
  await writeConfiguration(paths, options);
  deps.say(`configuration: ${paths.config}, manifests: ${paths.manifests}`);
  await mkdir(paths.units, { recursive: true, mode: 0o755 });
  for (const unit of units) {
    await copyFile(join(options.repository, 'agent/install/systemd', unit), join(paths.units, unit));
  }
  deps.say(`units: ${units.map((unit) => join(paths.units, unit)).join(', ')}`);
  await deps.systemctl([...rootFlag(options.root), 'enable', ...units]);
  if (options.root !== '/' || !options.start) return;
  await deps.systemctl(['daemon-reload']);
  // The agent last, and by restart: a running older one is replaced, its pods keep running.
  for (const unit of units.toReversed()) {
    if (unit !== AGENT_UNIT) await deps.systemctl(['start', unit]);
    else await restartAgent(restartDeps(deps));
  }
  deps.say('started; check it with: nodeagent ps, systemctl status nodeagent, journalctl -u nodeagent');
}

async function requirePrograms(): Promise<void> {
  await Promise.all([
    findRuntimePrograms(),
    findProgram('catatonit', 'catatonit'),
    findProgram('busybox', 'busybox-static'),
  ]);
}

/** Keeps an existing configuration: it belongs to the user. */
async function writeConfiguration(paths: InstallPaths, options: InstallOptions): Promise<void> {
  await mkdir(paths.configDir, { recursive: true, mode: 0o755 });
  // Environment variables in manifests may be secrets.
  await mkdir(paths.manifests, { recursive: true, mode: 0o700 });
  if (!(await isThere(paths.config))) {
    const text = await readFile(join(options.repository, 'agent/install/config.yaml'));
    await writeFile(paths.config, text, { mode: 0o600 });
  }
  if (options.endpoint === undefined) return;
  await mkdir(dirname(paths.defaults), { recursive: true });
  await writeFile(paths.defaults, `NODEAGENT_RUNTIME_ENDPOINT=${options.endpoint}\n`, { mode: 0o644 });
}

/** Stops the agent and its pods, then removes everything that `install` installed.
 *  @throws SystemctlError, AggregateError */
export async function uninstall(deps: InstallDeps, options: UninstallOptions): Promise<void> {
  const paths = installPaths(options.root);
  const units = (await listFolder(paths.units)).filter((name) => ALL_UNITS.includes(name));
  if (units.length > 0) {
    await deps.systemctl([...rootFlag(options.root), 'disable', ...units]);
    if (options.root === '/') await stopUnits(deps, units);
  }
  if (options.root === '/') {
    await removePodCgroups(deps, { note: paths.podsCgroupNote });
    await removePacketRules(deps, { note: paths.packetRulesNote });
  }
  if (options.root === '/' && options.purge && units.includes(CONTAINERD_UNIT)) {
    await removeManagedContainerd({ ...INSTALLED_CONTAINERD, log: deps.log });
  }
  for (const unit of units) await rm(join(paths.units, unit), { force: true });
  if (options.root === '/' && units.length > 0) await deps.systemctl(['daemon-reload']);
  const original = await readFile(join(options.repository, 'agent/install/config.yaml'), 'utf8');
  await leaveCluster(paths.config, deps.say);
  await rm(paths.program, { recursive: true, force: true });
  await rm(paths.command, { force: true });
  await rm(paths.shutdownDelay, { force: true });
  await removeConfiguration(paths, options, original);
  const retained = (await isThere(paths.configDir)) ? `; retained: ${paths.configDir}` : '';
  deps.say(options.purge ? 'removed, with configuration and data' : `removed${retained}`);
}

/** Stopping the unit of the pods stops the pods, so it comes after the agent and before containerd. */
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
  // An unchanged configuration is removed; any other belongs to the user.
  if ((await readText(paths.config)) === original) await rm(paths.config);
  if (isOnlyEndpoint(await readText(paths.defaults))) await rm(paths.defaults);
  await removeIfEmpty(paths.manifests);
  await removeIfEmpty(paths.configDir);
}

/** Reports whether a defaults file contains only what `install` wrote. */
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
    // The directory contains manifests of the user, or is already removed.
  }
}

function rootFlag(root: string): readonly string[] {
  return root === '/' ? [] : [`--root=${root}`];
}

async function writeExecutable(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  // Create a new file instead of overwriting the old one, which may be running.
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
