/** Reads the manifests selected by `-f`: a file, all files of a directory, a URL, or standard input. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Arguments, OptionSpec } from '../args/arguments.ts';
import type { CliContext } from '../context.ts';
import { CommandError } from '../errors.ts';
import { isUrl, openUrl } from './fetch-url.ts';

export interface ManifestText {
  /** Path as given by the user. */
  readonly name: string;
  readonly text: string;
}

/** Maximum request size of the agent, in bytes. */
const LARGEST_MANIFEST = 3 * 1024 * 1024;
const MANIFEST_NAME = /^[^.].*\.(?:ya?ml|json)$/i;

export interface ManifestSelection {
  readonly names: readonly string[];
  /** Also read nested directories. */
  readonly recursive: boolean;
  /** CA of the servers of URLs, in addition to the usual ones. */
  readonly caFile?: string | undefined;
}

/** Options that select manifests. */
export const MANIFEST_OPTIONS: Readonly<
  Record<'filename' | 'recursive' | 'certificate-authority', OptionSpec>
> = {
  filename: {
    type: 'string',
    short: 'f',
    multiple: true,
    value: 'FILE',
    help: 'manifest file, directory, https URL, or - for standard input; may be repeated',
  },
  recursive: { type: 'boolean', short: 'R', help: 'process directories recursively' },
  'certificate-authority': { type: 'string', value: 'FILE', help: 'CA of the server of a URL' },
};

/** Returns the selection of `-f` and of operands. */
export const selectionOf = (
  args: Arguments<keyof typeof MANIFEST_OPTIONS>,
  operands: readonly string[] = [],
): ManifestSelection => ({
  names: [...args.texts('filename'), ...operands],
  recursive: args.has('recursive'),
  caFile: args.text('certificate-authority'),
});

/** Reads manifests one by one; files of a directory in the order of their names.
 *  @throws CommandError naming the file */
export async function* readManifests(
  { names, recursive, caFile }: ManifestSelection,
  { input, cwd, signal }: Pick<CliContext, 'input' | 'cwd' | 'signal'>,
): AsyncGenerator<ManifestText> {
  for (const name of names) {
    if (isUrl(name)) {
      const stream = await openUrl(name, { caFile, cwd, signal });
      // A query may contain a token.
      const [shown = name] = name.split('?', 1);
      yield { name: shown, text: await readAll(shown, stream) };
      continue;
    }
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
