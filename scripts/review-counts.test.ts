import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  isGenerated,
  isTest,
  LARGE_FOLDERS,
  largeFolders,
  startsWithQuestion,
  unusedExports,
} from './review-counts.ts';

const ROOT = join(import.meta.dirname, '..');
const file = (path: string, text: string): { readonly path: string; readonly text: string } => ({
  path,
  text,
});

test('an export that no other file names is found', () => {
  const files = [
    file('a.ts', 'export const used = 1;\nexport function alone() {}\n'),
    file('b.ts', 'used();'),
  ];
  expect(unusedExports(files)).toEqual(['a.ts: alone']);
});

test('headers that start with a question word are found', () => {
  expect(startsWithQuestion(file('a.ts', '/** What it is. */'))).toBe(true);
  expect(startsWithQuestion(file('a.ts', '/** Whatever. */'))).toBe(false);
  expect(startsWithQuestion(file('a.ts', '/** Reads files. */'))).toBe(false);
});

function sources(): readonly { readonly path: string; readonly text: string }[] {
  const paths = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return paths
    .split('\n')
    .filter((path) => path !== '')
    .flatMap((path) => {
      try {
        return [file(path, readFileSync(join(ROOT, path), 'utf8'))];
      } catch {
        // Removed, and not yet committed.
        return [];
      }
    });
}

test('every exported function, constant and class has a user in another file', () => {
  expect(unusedExports(sources())).toEqual([]);
});

test('every large folder has a reason', () => {
  const production = sources().filter(({ path }) => !isGenerated(path) && !isTest(path));
  expect([...largeFolders(production).keys()].toSorted()).toEqual(Object.keys(LARGE_FOLDERS).toSorted());
});
