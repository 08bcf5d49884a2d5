import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import {
  KERNEL_DEFAULTS,
  KernelDefaultsError,
  keepKernelDefaults,
  readDifferences,
} from './kernel-defaults.ts';

async function kernel(root: string, changed: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, value] of Object.entries({ ...KERNEL_DEFAULTS, ...changed })) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), `${value}\n`);
  }
}

test('sets what differs, and nothing else', async () => {
  await using dir = await createTempDir();
  await kernel(dir.path, { 'kernel/panic': 0 });
  await keepKernelDefaults({ isProtected: false, sets: true, root: dir.path }, silentLogger);
  expect(await readFile(join(dir.path, 'kernel/panic'), 'utf8')).toBe('10\n');
  expect(await readDifferences(dir.path)).toEqual([]);
});

test('does not modify the machine without an API server', async () => {
  await using dir = await createTempDir();
  await kernel(dir.path, { 'kernel/panic': 0 });
  await keepKernelDefaults({ isProtected: false, sets: false, root: dir.path }, silentLogger);
  expect(await readDifferences(dir.path)).toEqual([{ name: 'kernel/panic', actual: 0, wanted: 10 }]);
});

test('rejects protected parameters that differ, with the remedy', async () => {
  await using dir = await createTempDir();
  await kernel(dir.path, { 'vm/overcommit_memory': 0 });
  const result = keepKernelDefaults({ isProtected: true, sets: true, root: dir.path }, silentLogger);
  await expect(result).rejects.toThrow(KernelDefaultsError);
  await expect(result).rejects.toThrow('sysctl -w vm.overcommit_memory=1');
});

test('ignores missing parameters, and survives a read-only file system', async () => {
  await using dir = await createTempDir();
  expect(await readDifferences(dir.path)).toEqual([]);
  await kernel(dir.path, {});
  await mkdir(join(dir.path, 'other'));
  await expect(
    keepKernelDefaults({ isProtected: false, sets: true, root: join(dir.path, 'other') }, silentLogger),
  ).resolves.toBeUndefined();
});
