import { execFile } from 'node:child_process';
import { link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createTempDir } from '../../testing/temp.ts';
import { createDiskUsage } from './disk-usage.ts';
import { measureTree } from './walk.ts';

const run = promisify(execFile);
const onPause = (): void => undefined;

async function freshDir(): Promise<string> {
  const folder = await createTempDir('na-usage-');
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.path;
}

async function duOf(path: string): Promise<number> {
  const { stdout } = await run('du', ['-s', '-B1', path]);
  return Number(stdout.split('\t')[0]);
}

async function onTmpfs(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', path]);
  onTestFinished(async () => void (await run('umount', [path])));
}

describe('measureTree', () => {
  test('counts what du counts', async () => {
    const root = await freshDir();
    await mkdir(join(root, 'a/b/c'), { recursive: true });
    for (let index = 0; index < 1200; index += 1)
      await writeFile(join(root, `a/b/f${index}`), 'x'.repeat(index));
    await writeFile(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0xfe])]), 'y'.repeat(9000));
    let pauses = 0;
    const usage = measureTree(root, { onPause: () => (pauses += 1) });
    expect(usage).toMatchObject({ usedBytes: await duOf(root), inodes: 1205 });
    expect(pauses).toBe(2);
  });

  test('counts hard links once, and follows no link', async () => {
    const root = await freshDir();
    const outside = await freshDir();
    await writeFile(join(outside, 'big'), 'x'.repeat(1_000_000));
    await mkdir(join(root, 'in'));
    await symlink(outside, join(root, 'out'));
    await symlink(root, join(root, 'in/self'));
    await writeFile(join(root, 'one'), 'x'.repeat(100_000));
    await link(join(root, 'one'), join(root, 'in/two'));
    const { usedBytes, inodes } = measureTree(root, { onPause });
    expect(inodes).toBe(5);
    expect(usedBytes).toBeLessThan(200_000);
    await expect(async () => measureTree(join(root, 'out'), { onPause })).rejects.toThrow('ENOTDIR');
  });

  test('counts entries deeper than can be held open', async () => {
    const root = await freshDir();
    let path = root;
    for (let depth = 0; depth < 4; depth += 1) {
      path = join(path, ...Array.from({ length: 75 }, () => 'd'));
      await mkdir(path, { recursive: true });
      await writeFile(join(path, 'file'), 'x'.repeat(10_000));
    }
    const { usedBytes, inodes } = measureTree(root, { onPause });
    expect(inodes).toBe(305);
    expect(usedBytes).toBe(await duOf(root));
  });

  test('does not enter bind mounts, even of the same file system', async () => {
    const root = await freshDir();
    const outside = await freshDir();
    await writeFile(join(outside, 'big'), 'x'.repeat(500_000));
    await mkdir(join(root, 'in/bound'), { recursive: true });
    await run('mount', ['--bind', outside, join(root, 'in/bound')]);
    onTestFinished(async () => void (await run('umount', [join(root, 'in/bound')])));
    expect(measureTree(root, { onPause, without: ['in/bound'] }).inodes).toBe(2);
  });

  test('does not enter other file systems', async () => {
    const root = await freshDir();
    await onTmpfs(join(root, 'in/other'));
    await writeFile(join(root, 'in/other/file'), 'x'.repeat(500_000));
    expect(measureTree(root, { onPause }).inodes).toBe(2);
  });
});

test('createDiskUsage reports the size of a raw device bound into a pod', async () => {
  const root = await freshDir();
  const image = join(root, 'image');
  await run('truncate', ['-s', '3M', image]);
  const { stdout } = await run('losetup', ['--find', '--show', image]);
  const device = stdout.trim();
  onTestFinished(async () => void (await run('losetup', ['--detach', device])));
  const dir = join(root, 'devices/x~local-volume');
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, 'raw'), '');
  await run('mount', ['--bind', device, join(dir, 'raw')]);
  onTestFinished(async () => void (await run('umount', [join(dir, 'raw')])));
  const [volumesDir, devicesDir, logsDir] = [join(root, 'v'), join(root, 'devices'), join(root, 'logs')];
  const folders = { uid: 'u', volumesDir, devicesDir, logsDir };
  const usage = createDiskUsage(
    { clock: systemClock, log: silentLogger, pods: () => [folders] },
    { periodMs: 60_000 },
  );
  onTestFinished(() => usage.close());
  await usage.measure();
  expect(usage.of('u')).toMatchObject([
    { name: 'raw', isOwnFs: true, space: { capacityBytes: 3 * 2 ** 20 } },
  ]);
});

test('createDiskUsage measures volumes and logs in a separate thread', async () => {
  const root = await freshDir();
  const [volumesDir, logsDir] = [join(root, 'volumes'), join(root, 'logs')];
  await mkdir(join(volumesDir, 'x~empty-dir/data'), { recursive: true });
  await writeFile(join(volumesDir, 'x~empty-dir/data/file'), 'x'.repeat(50_000));
  await mkdir(join(logsDir, 'c'), { recursive: true });
  await writeFile(join(logsDir, 'c/0.log'), 'x'.repeat(5000));
  await onTmpfs(join(volumesDir, 'x~secret/s'));
  const usage = createDiskUsage(
    {
      clock: systemClock,
      log: silentLogger,
      pods: () => [{ uid: 'u', volumesDir, devicesDir: join(root, 'd'), logsDir }],
    },
    { periodMs: 60_000 },
  );
  onTestFinished(() => usage.close());
  await usage.refresh();
  const found = usage.of('u').map(({ of, name, source, usedBytes = 0, inodesUsed, isOwnFs }) => ({
    of,
    name,
    source,
    isOwnFs,
    inodesUsed,
    large: usedBytes >= 5000,
  }));
  expect(found).toEqual([
    { of: 'volume', name: 'data', source: 'x~empty-dir', isOwnFs: false, inodesUsed: 2, large: true },
    { of: 'volume', name: 's', source: 'x~secret', isOwnFs: true, inodesUsed: 1, large: false },
    { of: 'log', name: 'c', source: '', isOwnFs: false, inodesUsed: 2, large: true },
  ]);
  expect(usage.of('u')[1]?.space.capacityBytes).toBe(1_048_576);
});
