/** Setup of the rows on packaged programs: the tarballs of this checkout, extracted. */
import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createTempDir } from '../../testing/temp.ts';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '../..');

export interface PackagedBench {
  /** Folder for the data of the programs. */
  readonly folder: string;
  readonly server: string;
  readonly agent: string;
}

export async function setUpPackaged(
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<PackagedBench> {
  const { path } = stack.use(await createTempDir('na-packaged-'));
  say('building packages');
  const packages = join(path, 'packages');
  const script = join(REPOSITORY, 'scripts/package/main.ts');
  await run(process.execPath, [script, '--fast', '--no-images', packages]);
  const archives = (await readdir(packages)).filter((name) => name.endsWith('.tar.gz'));
  for (const name of archives) await run('tar', ['-xzf', join(packages, name), '-C', path]);
  const programs = await readdir(path);
  const folderOf = (name: string): string =>
    join(path, programs.find((each) => each.startsWith(`${name}-`)) ?? name);
  return { folder: path, server: folderOf('control-plane-lite'), agent: folderOf('nodeagent') };
}
