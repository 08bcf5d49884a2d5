/** Packages of this checkout for the end-to-end tests, built with little compression. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '..');
const BUILD_TIMEOUT_MS = 300_000;

export async function buildPackages(folder: string, flags: readonly string[] = []): Promise<void> {
  const script = join(REPOSITORY, 'scripts/package/main.ts');
  await run(process.execPath, [script, '--fast', ...flags, folder], { timeout: BUILD_TIMEOUT_MS });
}

/** Returns the name of the only file in the folder that matches. @throws Error for none or several */
export async function packageFile(folder: string, pattern: RegExp): Promise<string> {
  const found = (await readdir(folder)).filter((name) => pattern.test(name));
  const [name] = found;
  if (name === undefined || found.length > 1)
    throw new Error(`${String(pattern)}: found ${found.join(', ')}`);
  return name;
}
