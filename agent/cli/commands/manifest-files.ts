/** Reads the manifests selected by `-f`: a file, all files of a directory, or standard input. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CliContext } from '../context.ts';
import { CommandError } from '../errors.ts';

export interface ManifestText {
  /** Path as given by the user. */
  readonly name: string;
  readonly text: string;
}

/** Maximum request size of the agent, in bytes. */
const LARGEST_MANIFEST = 3 * 1024 * 1024;
const MANIFEST_NAME = /^[^.].*\.(?:ya?ml|json)$/i;

/** Reads manifests one by one; files of a directory in the order of their names.
 *  @param recursive also read nested directories
 *  @throws CommandError naming the file */
export async function* readManifests(
  names: readonly string[],
  recursive: boolean,
  { input, cwd }: Pick<CliContext, 'input' | 'cwd'>,
): AsyncGenerator<ManifestText> {
  for (const name of names) {
    if (name === '-') yield { name: 'standard input', text: await readAll('standard input', input.read()) };
    else yield* readPath(name, recursive, cwd);
  }
}

async function* readPath(name: string, recursive: boolean, cwd: string): AsyncGenerator<ManifestText> {
  const files = await manifestFiles(name, recursive, cwd);
  for (const file of files) {
    yield { name: file, text: await readAll(file, createReadStream(resolve(cwd, file))) };
  }
}

async function manifestFiles(name: string, recursive: boolean, cwd: string): Promise<readonly string[]> {
  try {
    const path = resolve(cwd, name);
    if (!(await stat(path)).isDirectory()) return [name];
    const entries = await readdir(path, { recursive, withFileTypes: true });
    const files = entries
      .filter((entry) => !entry.isDirectory() && MANIFEST_NAME.test(entry.name))
      .map((entry) => join(name, entry.parentPath.slice(path.length), entry.name))
      .sort();
    if (files.length > 0) return files;
  } catch (cause) {
    throw new CommandError(`cannot read ${name}`, { cause });
  }
  throw new CommandError(`${name} contains no *.yaml, *.yml or *.json files`);
}

async function readAll(name: string, stream: AsyncIterable<unknown>): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      if (!(chunk instanceof Uint8Array)) continue;
      size += chunk.byteLength;
      if (size > LARGEST_MANIFEST) break;
      parts.push(chunk);
    }
  } catch (cause) {
    throw new CommandError(`cannot read ${name}`, { cause });
  }
  if (size > LARGEST_MANIFEST) {
    throw new CommandError(`${name} exceeds the maximum size of ${LARGEST_MANIFEST} bytes`);
  }
  return Buffer.concat(parts).toString('utf8');
}
