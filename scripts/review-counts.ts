/** Counts that show how readable the sources are: home-made terms, headers that start with a question word, large folders,
 *  long files, and exports without a user. `node scripts/review-counts.ts` prints them; `--exports` lists the exports. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { readArguments } from './arguments.ts';

const ROOT = join(import.meta.dirname, '..');
const MAX_FOLDER_FILES = 25;
const MAX_LINES = 300;

/** Reasons of folders that stay large. */
export const LARGE_FOLDERS: Readonly<Record<string, string>> = {
  'agent/cli/commands': 'one file per command',
  'control-plane-lite/admission': 'one file per admission plugin',
  'control-plane-lite/resources/core': 'one file per kind and per part of a pod',
  'volumes/sources': 'one file per volume source',
};

/** Files that spell the terms: the guide, the rules against them, and their tests. */
const GUIDES: ReadonlySet<string> = new Set([
  'docs/wording.md',
  'scripts/check-wording.ts',
  'scripts/check-wording.test.ts',
  'scripts/review-counts.ts',
]);

/** Terms of docs/wording.md, counted in comments, messages and guides. */
const HOME_MADE: Readonly<Record<string, RegExp>> = {
  told: /\btold\b/gi,
  answer: /\banswers?\b/gi,
  whoever: /\bwhoever\b/gi,
  'to be had': /\bto be had\b/gi,
  stranger: /\bstrangers?\b/gi,
  'taken on': /\b(?:is|was|are|were) taken on\b/gi,
};

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const tracked = (): readonly string[] =>
  execFileSync('git', ['ls-files', '*.ts', '*.md'], { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(join(ROOT, path)));

export const isGenerated = (path: string): boolean => path.includes('/gen/');
export const isTest = (path: string): boolean =>
  /\.(?:test|fixture)\.ts$|^(?:e2e|bench|testing)\//.test(path);

/** Headers whose first word asks a question. */
export const startsWithQuestion = ({ text }: SourceFile): boolean =>
  /^\/\*\* ?(?:What|Which|How|Whether)\b/.test(text);

/** Names that are exported and named in no other file. Pure. */
export function unusedExports(files: readonly SourceFile[]): readonly string[] {
  const users = new Map<string, Set<string>>();
  for (const { path, text } of files) {
    for (const [word] of text.matchAll(/[A-Za-z_$][\w$]*/g)) {
      const paths = users.get(word) ?? new Set<string>();
      paths.add(path);
      users.set(word, paths);
    }
  }
  const declared = /^export (?:async )?(?:function\*?|const|class) (\w+)/gm;
  return files
    .filter(({ path }) => !isTest(path) && !isGenerated(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(declared)]
        .map(([, name = '']) => name)
        .filter((name) => users.get(name)?.size === 1)
        .map((name) => `${path}: ${name}`),
    );
}

/** Folders with more source files than the limit, with their counts. Pure. */
export function largeFolders(files: readonly SourceFile[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return new Map([...counts].filter(([, count]) => count > MAX_FOLDER_FILES));
}

const USAGE = `node scripts/review-counts.ts [--exports]

Counts home-made terms, question headers, large folders, long files, and exports without a user.
  --exports   list the exports without a user
`;

function main(): void {
  const { values } = readArguments('review-counts', USAGE, () =>
    parseArgs({ options: { exports: { type: 'boolean' } } }),
  );
  const all = tracked().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
  const sources = all.filter(({ path }) => path.endsWith('.ts') && !isGenerated(path));
  const production = sources.filter(({ path }) => !isTest(path));
  const prose = all.filter(({ path }) => !GUIDES.has(path));
  const lines: string[] = [];
  for (const [term, pattern] of Object.entries(HOME_MADE)) {
    const count = prose.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0);
    lines.push(`"${term}": ${count}`);
  }
  lines.push(`headers that start with a question word: ${sources.filter(startsWithQuestion).length}`);
  const large = [...largeFolders(production)];
  lines.push(`folders of more than ${MAX_FOLDER_FILES} files: ${large.length}`);
  for (const [folder, count] of large)
    lines.push(`  ${folder}: ${count} (${LARGE_FOLDERS[folder] ?? 'no reason'})`);
  const long = production.filter(({ text }) => text.split('\n').length > MAX_LINES);
  lines.push(`files of more than ${MAX_LINES} lines: ${long.length}`);
  for (const { path, text } of long) lines.push(`  ${path}: ${text.split('\n').length}`);
  const unused = unusedExports(sources);
  lines.push(`exports that no other file names: ${unused.length}`);
  if (values.exports === true) lines.push(...unused.map((entry) => `  ${entry}`));
  console.log(lines.join('\n'));
}

if (import.meta.main) main();
