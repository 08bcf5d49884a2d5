/** Dependencies of each source file: its imports, and files whose names are in its text, such as programs that it
 *  starts and data that it reads. */
import { basename } from 'node:path';
import { files, importsOf, readText } from '../imports.ts';
import type { Dependency } from './affected.ts';

const NAMED = /['/]([\w.-]+\.(?:ts|json|js))'/g;

/** Returns what a file with that text depends on. @param byName all files by their names without a directory */
export function dependenciesOf(
  file: string,
  text: string,
  byName: ReadonlyMap<string, readonly string[]>,
): readonly Dependency[] {
  const imported = importsOf(file, text).map(({ to }) => ({ from: file, to, isMention: false }));
  const names = new Set([...text.matchAll(NAMED)].map(([, name = '']) => name));
  for (const { to } of imported) names.delete(basename(to));
  const mentioned = [...names].flatMap((name) => byName.get(name) ?? []);
  return [...imported, ...mentioned.map((to) => ({ from: file, to, isMention: true }))];
}

/** Reads the dependencies of all sources. @param changed the files that are looked for, sources or data */
export function readDependencies(changed: readonly string[]): readonly Dependency[] {
  const byName = Map.groupBy([...new Set([...files, ...changed])], (path) => basename(path));
  return files.flatMap((file) => dependenciesOf(file, readText(file), byName));
}
