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

test('leaves the machine of an agent that has no server', async () => {
  await using dir = await createTempDir();
  await kernel(dir.path, { 'kernel/panic': 0 });
  await keepKernelDefaults({ isProtected: false, sets: false, root: dir.path }, silentLogger);
  expect(await readDifferences(dir.path)).toEqual([{ name: 'kernel/panic', actual: 0, wanted: 10 }]);
});

test('refuses protected parameters that differ, and says how they are set', async () => {
  await using dir = await createTempDir();
  await kernel(dir.path, { 'vm/overcommit_memory': 0 });
  const kept = keepKernelDefaults({ isProtected: true, sets: true, root: dir.path }, silentLogger);
  await expect(kept).rejects.toThrow(KernelDefaultsError);
  await expect(kept).rejects.toThrow('sysctl -w vm.overcommit_memory=1');
});

test('does not miss what the kernel lacks, nor fail where it is read only', async () => {
  await using dir = await createTempDir();
  expect(await readDifferences(dir.path)).toEqual([]);
  await kernel(dir.path, {});
  await mkdir(join(dir.path, 'other'));
  await expect(
    keepKernelDefaults({ isProtected: false, sets: true, root: join(dir.path, 'other') }, silentLogger),
  ).resolves.toBeUndefined();
});
