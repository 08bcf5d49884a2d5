/** Installed program: the bundle, Node, and the files from which `install` and `uninstall` run. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { access, chmod, copyFile, cp, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from '../errno.ts';

const run = promisify(execFile);

/** Directory of the bundle within the program. */
const BUNDLE = 'dist';

export interface ProgramSpec {
  /** Name of the program, and of its file in the bundle. */
  readonly name: string;
  /** Files that are installed besides the bundle and Node, relative to the program. The first one exists in
   *  no other folder than that of a program or a checkout. */
  readonly files: readonly [string, ...string[]];
}

/** Returns the folder of the program that `folder` belongs to: the nearest one with its first file. */
export function findProgramFolder(folder: string, spec: ProgramSpec): string {
  const parent = dirname(folder);
  return parent === folder || existsSync(join(folder, spec.files[0]))
    ? folder
    : findProgramFolder(parent, spec);
}

/** The program could not be bundled from its sources. */
class BundleError extends Error {
  constructor(cause: unknown) {
    super('cannot bundle the program; run `npm install` in its folder first', { cause });
    this.name = 'BundleError';
  }
}

/** Installs the program into `target` atomically: after a crash the old or the new one is there.
 *  @param repository a checkout, which is bundled, or an installed program, which is copied
 *  @throws BundleError */
export async function copyProgram(repository: string, target: string, spec: ProgramSpec): Promise<void> {
  const next = `${target}.next`;
  const last = `${target}.last`;
  await rm(next, { recursive: true, force: true });
  await mkdir(join(next, 'bin'), { recursive: true, mode: 0o755 });
  await putBundle(repository, join(next, BUNDLE), spec);
  for (const file of spec.files) await cp(join(repository, file), join(next, file), { recursive: true });
  await copyFile(process.execPath, join(next, 'bin', 'node'));
  await chmod(join(next, 'bin', 'node'), 0o755);
  await rm(last, { recursive: true, force: true });
  await renameIfThere(target, last);
  await rename(next, target);
  await rm(last, { recursive: true, force: true });
}

async function putBundle(repository: string, folder: string, { name }: ProgramSpec): Promise<void> {
  const script = join(repository, 'scripts', 'bundle.ts');
  if (!(await isThere(script))) return await cp(join(repository, BUNDLE), folder, { recursive: true });
  try {
    // In a separate process: the bundler is not part of the program.
    await run(process.execPath, [script, '--program', name, folder]);
  } catch (thrown) {
    throw new BundleError(thrown);
  }
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    if (!hasCode(thrown, 'ENOENT')) throw thrown;
  }
}

/** Reports whether the program belongs to a Debian package, which installs and removes it. */
export const isPackaged = (repository: string, { name }: ProgramSpec): boolean =>
  repository === `/usr/lib/${name}`;

/** A command of the installer, in a program that dpkg manages. */
export class PackagedError extends Error {
  constructor({ name }: ProgramSpec) {
    super(`${name} belongs to a Debian package: use apt-get install, remove or purge ${name}`);
    this.name = 'PackagedError';
  }
}

/** Returns the text of the command in `/usr/local/bin`.
 *  @param program folder of the installed program */
export function commandScript(program: string, { name }: ProgramSpec): string {
  return `#!/bin/sh\nexec ${program}/bin/node ${program}/${BUNDLE}/${name}.js "$@"\n`;
}
