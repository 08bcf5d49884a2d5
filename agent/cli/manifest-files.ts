/** The manifests that `-f` names: a file, all files of a directory, or standard input. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CliContext } from './context.ts';
import { CommandError } from './errors.ts';

export interface ManifestText {
  /** As the user named it. */
  readonly name: string;
  readonly text: string;
}

/** The agent takes no larger request, in bytes. */
const LARGEST_MANIFEST = 3 * 1024 * 1024;
const MANIFEST_NAME = /^[^.].*\.(?:ya?ml|json)$/i;

/** Reads them one by one, a directory's files by name.
 *  @param recursive also those of directories within directories
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
    throw new CommandError(`${name} cannot be read`, { cause });
  }
  throw new CommandError(`${name} has no files named *.yaml, *.yml or *.json`);
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
    throw new CommandError(`${name} cannot be read`, { cause });
  }
  if (size > LARGEST_MANIFEST) {
    throw new CommandError(
      `${name} is larger than ${LARGEST_MANIFEST} bytes, which is the most that is taken`,
    );
  }
  return Buffer.concat(parts).toString('utf8');
}
