/** Node and native parts of each architecture. This machine's are in node_modules; those of others are fetched once
 *  from the registry into .cache/. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isObject } from '#api/kit/object.ts';

const run = promisify(execFile);
const FETCH_TIMEOUT_MS = 600_000;

export interface NodeBinaries {
  /** Path of Node. */
  readonly node: string;
  /** File with its licence. */
  readonly licence: string;
  /** Folder of node_modules with the native part of koffi. */
  readonly modules: string;
}

function versionOf(repository: string, name: string): string {
  const manifest: unknown = JSON.parse(
    readFileSync(join(repository, 'node_modules', name, 'package.json'), 'utf8'),
  );
  return isObject(manifest) && typeof manifest['version'] === 'string' ? manifest['version'] : '';
}

export async function nodeBinaries(repository: string, arch: string): Promise<NodeBinaries> {
  const modules = join(repository, 'node_modules');
  const nodePackage = `node-linux-${arch}`;
  if (arch === process.arch) {
    return {
      node: join(modules, 'node/bin/node'),
      licence: join(modules, 'node/node_modules', nodePackage, 'LICENSE'),
      modules,
    };
  }
  const version = versionOf(repository, 'node');
  const koffi = versionOf(repository, 'koffi');
  const folder = join(repository, '.cache', `package-${arch}-${version}-${koffi}`);
  if (!existsSync(folder)) {
    const partial = `${folder}.partial`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { recursive: true });
    const packages = [`${nodePackage}@${version}`, `@koromix/koffi-linux-${arch}@${koffi}`];
    const flags = ['--no-save', '--ignore-scripts', '--force', '--no-fund', '--no-audit', '--loglevel=error'];
    await run('npm', ['install', '--prefix', partial, ...flags, ...packages], { timeout: FETCH_TIMEOUT_MS });
    await rename(partial, folder);
  }
  const fetched = join(folder, 'node_modules');
  return {
    node: join(fetched, nodePackage, 'bin/node'),
    licence: join(fetched, nodePackage, 'LICENSE'),
    modules: fetched,
  };
}
