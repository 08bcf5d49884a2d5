/** Paths that programs, benchmarks and test support join to a folder of the repository: each of them exists.
 *  Tests are left out: a wrong path fails there by itself. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

/** Folders that builds and programs create. */
const CREATED = /^(?:\.cache|dist)(?:\/|$)/;

const JOINED =
  /\b(?:join|resolve)\(\s*(REPOSITORY|import\.meta\.dirname),\s*((?:'[^'\n]+'(?:,\s*)?)+)\)|new URL\((')([^'\n]+)', import\.meta\.url\)/g;

const sources = (): readonly string[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('.test.ts') && existsSync(join(ROOT, path)));

/** Paths relative to the repository that a source file joins. Pure. */
function joinedPaths(path: string, text: string): readonly string[] {
  return [...text.matchAll(JOINED)].map(([, base, parts = '', , url]) => {
    const segments =
      url === undefined ? [...parts.matchAll(/'([^']+)'/g)].map(([, part = '']) => part) : [url];
    return join(base === 'REPOSITORY' ? '.' : dirname(path), ...segments);
  });
}

test('each path that a source file joins exists', () => {
  const joined = sources().flatMap((path) =>
    joinedPaths(path, readFileSync(join(ROOT, path), 'utf8')).map((target) => ({ path, target })),
  );
  expect(joined.length).toBeGreaterThan(20);
  const missing = joined.filter(({ target }) => !CREATED.test(target) && !existsSync(join(ROOT, target)));
  expect(missing).toEqual([]);
});

test('paths are found whatever they are relative to', () => {
  const text = `join(import.meta.dirname, '..', 'a.ts'); resolve(REPOSITORY, 'b/c'); new URL('d.ts', import.meta.url)`;
  expect(joinedPaths('room/x.ts', text)).toEqual(['a.ts', 'b/c', 'room/d.ts']);
});
