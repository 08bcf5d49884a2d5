/** `control-plane-lite install` and `uninstall`: install program, user, units and settings and start the
 *  server, or remove them. Both are idempotent; the data stays unless it is purged. */
import { execFile } from 'node:child_process';
import { access, copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { commandScript, copyProgram } from '#api/kit/install/program.ts';
import type { Systemctl } from '#api/kit/install/systemctl.ts';
import { ENABLED_UNITS, PLANE_PROGRAM, type PlanePaths, planePaths, SERVER_UNIT, UNITS } from './paths.ts';

const run = promisify(execFile);
const HELPER_TIMEOUT_MS = 60_000;

export interface InstallDeps {
  readonly systemctl: Systemctl;
  /** Runs systemd-sysusers or systemd-tmpfiles. */
  readonly helper: (program: string, args: readonly string[]) => Promise<unknown>;
  readonly say: (text: string) => void;
}

export const systemHelper: InstallDeps['helper'] = (program, args) =>
  run(program, [...args], { timeout: HELPER_TIMEOUT_MS });

export interface InstallOptions {
  /** Directory with the sources and node_modules, or an installed program, to install from. */
  readonly repository: string;
  /** Installation root; nothing is started unless it is `/`. */
  readonly root: string;
  readonly start: boolean;
}

export interface UninstallOptions {
  readonly repository: string;
  readonly root: string;
  /** Also removes settings, data and backups. */
  readonly purge: boolean;
}

const SOURCES = 'control-plane-lite/install';

/** @throws SystemctlError when a unit does not start */
export async function installServer(deps: InstallDeps, options: InstallOptions): Promise<void> {
  const paths = planePaths(options.root);
  await copyProgram(options.repository, paths.program, PLANE_PROGRAM);
  await writeExecutable(paths.command, commandScript(planePaths().program, PLANE_PROGRAM));
  deps.say(`program: ${paths.program}, command: ${paths.command}`);
  await copyFiles(options.repository, paths);
  deps.say(`settings: ${paths.defaults}, data: ${paths.data}`);
  deps.say(`units: ${UNITS.map((unit) => join(paths.units, unit)).join(', ')}`);
  await deps.helper('systemd-sysusers', [...rootFlag(options.root), paths.users]);
  if (options.root === '/') await deps.helper('systemd-tmpfiles', ['--create', paths.folders]);
  await deps.systemctl([...rootFlag(options.root), 'enable', ...ENABLED_UNITS]);
  if (options.root !== '/' || !options.start) return;
  await deps.systemctl(['daemon-reload']);
  for (const unit of ENABLED_UNITS) await deps.systemctl(['restart', unit]);
  deps.say('started; let machines join it with the command of: control-plane-lite token create');
  deps.say(`kubectl --kubeconfig ${paths.data}/admin.platconfig get nodes; journalctl -u control-plane-lite`);
}

/** Existing settings belong to the administrator. */
async function copyFiles(repository: string, paths: PlanePaths): Promise<void> {
  const source = join(repository, SOURCES);
  for (const path of [paths.users, paths.folders, paths.defaults]) {
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  }
  await mkdir(paths.units, { recursive: true, mode: 0o755 });
  for (const unit of UNITS) await copyFile(join(source, 'systemd', unit), join(paths.units, unit));
  await copyFile(join(source, 'systemd/sysusers.conf'), paths.users);
  await copyFile(join(source, 'systemd/tmpfiles.conf'), paths.folders);
  if (!(await isThere(paths.defaults))) await copyFile(join(source, 'defaults'), paths.defaults);
}

/** @throws SystemctlError */
export async function uninstallServer(deps: InstallDeps, options: UninstallOptions): Promise<void> {
  const paths = planePaths(options.root);
  const isInstalled = await isThere(join(paths.units, SERVER_UNIT));
  if (isInstalled) {
    await deps.systemctl([...rootFlag(options.root), 'disable', ...ENABLED_UNITS]);
    if (options.root === '/') await deps.systemctl(['stop', ...UNITS]);
  }
  const original = await readFile(join(options.repository, SOURCES, 'defaults'), 'utf8');
  for (const unit of UNITS) await rm(join(paths.units, unit), { force: true });
  if (options.root === '/' && isInstalled) await deps.systemctl(['daemon-reload']);
  for (const path of [paths.users, paths.folders, paths.command]) await rm(path, { force: true });
  await rm(paths.program, { recursive: true, force: true });
  const settings = await readFile(paths.defaults, 'utf8').catch(() => undefined);
  if (options.purge || settings === original) await rm(paths.defaults, { force: true });
  if (options.purge) {
    for (const path of [paths.data, ...paths.written]) await rm(path, { recursive: true, force: true });
  }
  deps.say(
    options.purge
      ? 'removed, with settings, data and backups; the user control-plane-lite stays'
      : `removed; retained: ${paths.data}, ${paths.written.join(', ')}, the user control-plane-lite`,
  );
}

const rootFlag = (root: string): readonly string[] => (root === '/' ? [] : [`--root=${root}`]);

async function writeExecutable(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await rm(path, { force: true });
  await writeFile(path, text, { mode: 0o755 });
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
