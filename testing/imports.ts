/** The sources of the project and the imports between them. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

const ALIASES: Readonly<Record<string, string>> = {
  '#api': 'api-machinery',
  '#cri': 'cri-proto',
  '#volumes': 'volumes',
  '#eviction': 'eviction',
  '#agent': 'agent',
  '#plane': 'control-plane-lite',
};

export interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
  readonly lazy: boolean;
}

export const files: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'],
  {
    cwd: ROOT,
    encoding: 'utf8',
  },
)
  .split('\n')
  .filter((path) => path.includes('/') && existsSync(join(ROOT, path)));

export const isFixture = (path: string): boolean =>
  path.endsWith('.fixture.ts') || path.includes('/testing/');
export const isTest = (path: string): boolean => path.endsWith('.test.ts') || isFixture(path);
export const roomOf = (path: string): string => path.split('/')[0] ?? '';
export const readText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Returns every import, export-from and dynamic import of our own files, as repository paths. */
export function importsOf(path: string, text: string): readonly Import[] {
  const pattern = /(?:^|\n)\s*(import|export)(\s+type)?\s(?:[^;'"]*?from\s+)?'([^']+)'|import\(\s*'([^']+)'/g;
  return [...text.matchAll(pattern)].flatMap((match) => {
    const specifier = match[3] ?? match[4] ?? '';
    const to = resolve(path, specifier);
    const lazy = match[4] !== undefined;
    return to === undefined ? [] : [{ from: path, to, typeOnly: match[2] !== undefined, lazy }];
  });
}

function resolve(path: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return normalize(join(dirname(path), specifier));
  const [alias = '', ...rest] = specifier.split('/');
  const room = ALIASES[alias];
  return room === undefined ? undefined : join(room, ...rest);
}

export const imports: readonly Import[] = files.flatMap((path) => importsOf(path, readText(path)));
