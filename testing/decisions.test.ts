/** Checks decision records: a numbered title that names a subject and is in the index, a uniform status with links in both
 *  directions, and paths and flags that exist. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs/decisions/');
const read = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8');
const pages = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name));
const index = read('README.md');
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .trimEnd()
  .split('\n');

/** Flags of programs that the project neither starts nor documents. */
const FOREIGN_FLAGS: Readonly<Record<string, string>> = {
  '--isolate': 'vitest',
  '--lite-mode': 'V8',
  '--zeroout': 'blkdiscard',
};

/** Files of an installation, by their example in a page. */
const EXAMPLE_FILES: ReadonlySet<string> = new Set(['Pod.default.web.json']);

/** Everything that may define or use a flag. */
const sources = tracked
  .filter((path) => !path.startsWith('docs/decisions/') && existsSync(join(ROOT, path)))
  .filter((path) => /\.(?:json|md|service|sh|ts)$/.test(path) || !path.includes('.'))
  .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  .join('\n');

const quoted = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, content = '']) => content);

/** Paths of files, by their endings, and of folders, by their trailing slash. */
const pathsIn = (text: string): readonly string[] =>
  quoted(text).filter((content) => /^[\w.-]+(?:\/[\w.*-]+)*(?:\.(?:json|md|sh|ts)|\/)$/.test(content));

/** A path may leave out leading folders. */
function exists(path: string): boolean {
  if (EXAMPLE_FILES.has(path)) return true;
  const [known = ''] = path.split('*');
  return path.endsWith('/') || path.includes('*')
    ? tracked.some((file) => `/${file}`.includes(`/${known}`))
    : tracked.some((file) => `/${file}`.endsWith(`/${path}`));
}

const flagsIn = (text: string): readonly string[] =>
  quoted(text).flatMap((content) => [...content.matchAll(/(?<![\w-])--[a-z][\w-]+/g)].map(([flag]) => flag));

/** Settings spell their flags without dashes. */
const isFlag = (flag: string): boolean =>
  Object.hasOwn(FOREIGN_FLAGS, flag) || sources.includes(flag) || sources.includes(`'${flag.slice(2)}'`);

interface Relation {
  readonly from: string;
  readonly kind: string;
  readonly to: string;
  readonly subject: string;
}

const RELATION =
  /^(?<kind>supersedes|superseded by|extends) \[(?<number>\d{4})\]\((?<to>\d{4}-[\w-]+\.md)\)(?<subject> for .+)?$/;

/** @returns the relations of a status such as `accepted; supersedes [0010](0010-….md) for …`
 *  @throws if it has another form */
function relationsOf(name: string): readonly Relation[] {
  const [, , status = ''] = read(name).split('\n');
  const [state, ...clauses] = status.split('; ');
  expect(state).toBe('Status: accepted');
  return clauses.map((clause) => {
    const { kind = '', number = '', to = '', subject = '' } = RELATION.exec(clause)?.groups ?? {};
    expect([clause, kind]).not.toEqual([clause, '']);
    expect(to.slice(0, 4)).toBe(number);
    return { from: name, kind, to, subject };
  });
}

describe('decision records', () => {
  test('have a number each', () => {
    const numbers = pages.map((name) => name.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(pages.length).toBeGreaterThan(60);
  });

  test.each(pages)('%s has its title, its status and its line in the index', (name) => {
    const [title = '', empty] = read(name).split('\n');
    expect(title).toMatch(new RegExp(`^# ${name.slice(0, 4)} [A-Z\`]`));
    expect(title).not.toMatch(/^# \d{4} (?:How|What|When|Where|Which|Who|Why)\b/);
    expect(empty).toBe('');
    for (const { to } of relationsOf(name)) expect(pages).toContain(to);
    expect(index).toContain(`- [${title.slice(2)}](${name})\n`);
  });

  test('are superseded where their successors say so, for the same subject', () => {
    const relations = pages.flatMap(relationsOf);
    const successors = relations
      .filter(({ kind }) => kind === 'supersedes')
      .map(({ from, to, subject }) => `${to} by ${from}${subject}`);
    const superseded = relations
      .filter(({ kind }) => kind === 'superseded by')
      .map(({ from, to, subject }) => `${from} by ${to}${subject}`);
    expect(superseded.toSorted()).toEqual(successors.toSorted());
    expect(superseded.length).toBeGreaterThan(10);
  });

  test('are all that the index lists', () => {
    const listed = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(pages.toSorted());
  });

  test.each(pages)('%s names paths and flags that exist', (name) => {
    const text = read(name);
    expect(pathsIn(text).filter((path) => !exists(path))).toEqual([]);
    expect(flagsIn(text).filter((flag) => !isFlag(flag))).toEqual([]);
  });

  test('are searched for paths and flags', () => {
    expect(pathsIn('`a/b.ts`, `agent/dbus/`, `/proc/1/`, `Pod.default.web.json` and `x`')).toEqual([
      'a/b.ts',
      'agent/dbus/',
      'Pod.default.web.json',
    ]);
    expect(['agent/config/settings/*.ts', 'kit/waits.ts', 'no/such.ts'].map(exists)).toEqual([
      true,
      true,
      false,
    ]);
    expect(flagsIn('`run --first=1 --second` and `a--b`')).toEqual(['--first', '--second']);
    expect(['--root-dir', ['--neither', 'defined'].join('-')].map(isFlag)).toEqual([true, false]);
  });
});
