/** Files of an installed program in memory: its bundle, its Node, and what `install` needs. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TarEntry } from '#agent/runtime/managed/tar.ts';
import type { ProgramSpec } from '#api/kit/install/program.ts';

export const fileEntry = (path: string, content: string | Uint8Array, mode = 0o644): TarEntry => ({
  kind: 'file',
  path,
  mode,
  content: typeof content === 'string' ? Buffer.from(content) : content,
});

/** Reads a file, or a folder with everything in it, as entries below `to`. */
async function readTree(from: string, to: string): Promise<readonly TarEntry[]> {
  const names = await readdir(from, { withFileTypes: true }).catch(() => undefined);
  if (names === undefined) return [fileEntry(to, await readFile(from))];
  const found = await Promise.all(
    names
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name }) => readTree(join(from, name), join(to, name))),
  );
  return found.flat();
}

export interface TreeSources {
  readonly repository: string;
  /** Folder of the program's bundle. */
  readonly bundle: string;
  /** Binary of Node. */
  readonly node: Uint8Array;
  readonly spec: ProgramSpec;
  /** Generated files, relative to the program. */
  readonly generated: Readonly<Record<string, string>>;
}

/** Returns the files relative to the folder of the program. */
export async function programTree(sources: TreeSources): Promise<readonly TarEntry[]> {
  const { repository, bundle, node, spec, generated } = sources;
  const files = spec.files.filter((path) => !Object.hasOwn(generated, path));
  const parts = await Promise.all([
    readTree(bundle, 'dist'),
    ...files.map((path) => readTree(join(repository, path), path)),
  ]);
  const command = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../dist/${spec.name}.js" "$@"
`;
  return [
    ...parts.flat(),
    ...Object.entries(generated).map(([path, text]) => fileEntry(path, text)),
    fileEntry('bin/node', node, 0o755),
    fileEntry(`bin/${spec.name}`, command, 0o755),
  ];
}

/** Moves entries below a folder. */
export const under = (folder: string, entries: readonly TarEntry[]): readonly TarEntry[] =>
  entries.map((entry) => ({ ...entry, path: `${folder}/${entry.path}` }));
