import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { gitCommit } from './git-commit.ts';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const OTHER = 'f'.repeat(40);

test.each<[string, Readonly<Record<string, string>>, string]>([
  ['a bundle', { 'p/package.json': JSON.stringify({ type: 'module', gitCommit: COMMIT }) }, COMMIT],
  ['a branch', { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` }, COMMIT],
  ['no branch', { '.git/HEAD': `${COMMIT}\n` }, COMMIT],
  [
    'a branch that is packed',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `# pack\n${OTHER} refs/heads/other\n${COMMIT} refs/heads/main\n`,
    },
    COMMIT,
  ],
  [
    'a further worktree',
    {
      '.git': 'gitdir: main/.git/worktrees/w\n',
      'main/.git/worktrees/w/HEAD': 'ref: refs/heads/w\n',
      'main/.git/worktrees/w/commondir': '../..\n',
      'main/.git/refs/heads/w': `${COMMIT}\n`,
    },
    COMMIT,
  ],
  ['a checkout without commits', { '.git/HEAD': 'ref: refs/heads/main\n' }, 'unknown'],
  ['no checkout', { 'p/package.json': '{}' }, 'unknown'],
])('the commit of %s', async (_, files, expected) => {
  await using dir = await createTempDir('na-commit-');
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir.path, name)), { recursive: true });
    await writeFile(join(dir.path, name), content);
  }
  expect(gitCommit(join(dir.path, 'p'))).toBe(expected);
});
