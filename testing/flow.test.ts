/** docs/flow.md names existing files, and each of them once per path. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
const page = readFileSync(join(ROOT, 'docs/flow.md'), 'utf8');
const paths = page
  .split('\n## ')
  .slice(1)
  .map((section) => ({
    title: section.split('\n')[0] ?? '',
    files: [...section.matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = '']) => path),
  }));

test('the page describes three paths', () => expect(paths).toHaveLength(3));

describe.each(paths)('$title', ({ files }) => {
  test('all files exist', () => {
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test('no file is listed twice', () => {
    expect(files.filter((path, index) => files.indexOf(path) !== index)).toEqual([]);
  });

  test('a path is short enough to read: at most 50 files', () => {
    expect(files.length).toBeGreaterThan(10);
    expect(files.length).toBeLessThanOrEqual(50);
  });
});
