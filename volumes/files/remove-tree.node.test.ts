import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, readlink, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestHost } from '../manage/host.fixture.ts';
import { createMounter } from '../mount/mounter.ts';
import { holdDir } from './held-dir.ts';
import { removeTree } from './remove-tree.ts';
import { MS_BIND } from './syscalls.ts';

describe('removeTree', () => {
  test('stops at a mount, even of the same file system', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const outside = join(t.base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'x');
    await mkdir(join(t.base, 'tree/a/mounted'), { recursive: true });
    await syscalls.mount({ source: outside, target: join(t.base, 'tree/a/mounted'), flags: MS_BIND });
    await using base = await holdDir(t.base);
    await expect(removeTree(syscalls, base, 'tree')).rejects.toMatchObject({ code: 'EXDEV' });
    expect(readFileSync(join(outside, 'f'), 'utf8')).toBe('x');
  });

  test('stops at a mounted file', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    await writeFile(join(t.base, 'outside'), 'x');
    await mkdir(join(t.base, 'tree'));
    await writeFile(join(t.base, 'tree/f'), '');
    await syscalls.mount({ source: join(t.base, 'outside'), target: join(t.base, 'tree/f'), flags: MS_BIND });
    await using base = await holdDir(t.base);
    await expect(removeTree(syscalls, base, 'tree')).rejects.toMatchObject({ code: 'EBUSY' });
    expect(readFileSync(join(t.base, 'outside'), 'utf8')).toBe('x');
  });

  test('removes a link, not its target', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    await mkdir(join(t.base, 'outside/d'), { recursive: true });
    await symlink('outside', join(t.base, 'link'));
    await mkdir(join(t.base, 'tree'));
    await symlink('../outside', join(t.base, 'tree/link'));
    await using base = await holdDir(t.base);
    await removeTree(syscalls, base, 'link');
    await removeTree(syscalls, base, 'tree');
    await removeTree(syscalls, base, 'absent');
    expect(readdirSync(t.base).sort()).toEqual(['outside', 'root']);
    expect(existsSync(join(t.base, 'outside/d'))).toBe(true);
  });

  test('removes a tree deeper than any path may be, with few descriptors', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const tree = join(t.base, 'tree');
    await mkdir(tree);
    const level = 'd'.repeat(200);
    const piece = Array.from({ length: 15 }, () => level).join('/');
    for (let round = 0; round < 4; round += 1) {
      // Moves the tree beneath a new chain of directories: no call needs a path longer than the kernel
      // allows.
      await mkdir(join(t.base, 'next', piece), { recursive: true });
      await rename(tree, join(t.base, 'next', piece, 'inner'));
      await rename(join(t.base, 'next'), tree);
    }
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    let most = before;
    const counting = setInterval(() => {
      most = Math.max(most, open());
    }, 1);
    await using base = await holdDir(t.base);
    await removeTree(syscalls, base, 'tree');
    clearInterval(counting);
    expect(existsSync(tree)).toBe(false);
    expect(most - before).toBeLessThan(60);
  });

  test('follows the held directory, not its path', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    await mkdir(join(t.base, 'parent/tree'), { recursive: true });
    await mkdir(join(t.base, 'decoy/tree/kept'), { recursive: true });
    await using parent = await holdDir(join(t.base, 'parent'));
    await rename(join(t.base, 'parent'), join(t.base, 'moved'));
    await symlink('decoy', join(t.base, 'parent'));
    await removeTree(syscalls, parent, 'tree');
    expect(existsSync(join(t.base, 'moved/tree'))).toBe(false);
    expect(existsSync(join(t.base, 'decoy/tree/kept'))).toBe(true);
    expect(await readlink(join(t.base, 'parent'))).toBe('decoy');
  });
});
