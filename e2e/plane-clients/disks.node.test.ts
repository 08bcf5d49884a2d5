/** The server on disks that are full, read-only, damaged or owned by another user. Needs root, to mount its
 *  own disks. */
import { execFile } from 'node:child_process';
import { mkdir, open, readdir, statfs, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { type Program, type Reply, runProgram, startProgram } from './program/program.ts';
import { COLLECTION } from './program/writers.ts';

const run = promisify(execFile);

interface Disk extends AsyncDisposable {
  readonly path: string;
  mount(...argv: readonly string[]): Promise<void>;
}

async function createDisk(...argv: readonly string[]): Promise<Disk> {
  const dir: TempDir = await createTempDir('na-disk-');
  const path = join(dir.path, 'm');
  await mkdir(path);
  const mount = async (...options: readonly string[]): Promise<void> => {
    await run('mount', [...options, path]);
  };
  await mount(...argv);
  return {
    path,
    mount,
    async [Symbol.asyncDispose]() {
      await run('umount', [path]);
      await dir[Symbol.asyncDispose]();
    },
  };
}

const object = (name: string, bytes = 10): object => ({
  metadata: { name },
  data: { value: 'v'.repeat(bytes) },
});

/** Creates objects until one is rejected. */
async function createUntilRefused(
  program: Program,
): Promise<{ readonly made: number; readonly reply: Reply }> {
  for (let made = 0; ; made += 1) {
    const reply = await program.call('POST', COLLECTION, object(`big-${made}`, 200_000));
    if (reply.status !== 201) return { made, reply };
  }
}

/** Reads of every kind, and a watch that sees what comes after. */
async function expectReads(program: Program, count: number): Promise<void> {
  const list = await program.call('GET', COLLECTION);
  expect(list.body.items).toHaveLength(count);
  expect((await program.call('GET', `${COLLECTION}/first`)).body.data).toEqual({ value: 'v'.repeat(10) });
  expect((await program.call('GET', `${COLLECTION}?resourceVersion=0&limit=1`)).status).toBe(200);
  const watch = await program.call(
    'GET',
    `${COLLECTION}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Dfirst`,
  );
  expect(watch.text).toContain('"type":"ADDED"');
  expect((await program.call('GET', '/livez')).status).toBe(200);
}

const REFUSED = { kind: 'Status', code: 507, reason: 'InsufficientStorage' };

describe('a server', { timeout: 60_000 }, () => {
  test('on a full disk refuses to write, serves reads, and writes again once there is space', async () => {
    await using disk = await createDisk('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs');
    await using program = await startProgram(join(disk.path, 'd'));
    expect((await program.call('POST', COLLECTION, object('first'))).status).toBe(201);
    const { bavail, bsize } = await statfs(disk.path);
    await writeFile(join(disk.path, 'filler'), Buffer.alloc(bavail * bsize - 4_000_000));
    const { made, reply } = await createUntilRefused(program);
    expect(made).toBeGreaterThan(0);
    expect([reply.status, reply.body]).toMatchObject([507, REFUSED]);
    expect(reply.body.message).toContain('no space');
    const change = await program.call('PUT', `${COLLECTION}/first`, object('first', 400_000));
    expect([change.status, change.body]).toMatchObject([507, REFUSED]);
    await expectReads(program, made + 1);

    await truncate(join(disk.path, 'filler'));
    expect((await program.call('POST', COLLECTION, object('after'))).status).toBe(201);
    await expectReads(program, made + 2);
    program.signal('SIGTERM');
    expect((await program.ended).code).toBe(0);
  });

  test('on a disk that turns read-only refuses to write and serves reads', async () => {
    await using images = await createTempDir('na-disk-');
    const image = join(images.path, 'image');
    await run('truncate', ['-s', '64M', image]);
    await run('mkfs.ext4', ['-q', image]);
    await using disk = await createDisk('-o', 'loop', image);
    await using program = await startProgram(join(disk.path, 'd'));
    expect((await program.call('POST', COLLECTION, object('first'))).status).toBe(201);
    // Behaviour of the kernel with a failing disk.
    await disk.mount('-o', 'remount,abort');
    const reply = await program.call('POST', COLLECTION, object('second'));
    expect([reply.status, reply.body]).toMatchObject([507, REFUSED]);
    expect(reply.body.message).toContain('read-only');
    expect((await program.call('DELETE', `${COLLECTION}/first`)).status).toBe(507);
    await expectReads(program, 1);
    program.signal('SIGTERM');
    expect((await program.ended).code).toBe(0);
  });

  test('does not start on a damaged store, and reports the fix', async () => {
    await using dir = await createTempDir('na-disk-');
    await using first = await startProgram(dir.path);
    for (let made = 0; made < 20; made += 1)
      await first.call('POST', COLLECTION, object(`o-${made}`, 10_000));
    first.signal('SIGTERM');
    await first.ended;
    const names = await readdir(join(dir.path, 'store'));
    const file = join(dir.path, 'store', names.find((name) => name.endsWith('.db')) ?? '');
    await using handle = await open(file, 'r+');
    const { size } = await handle.stat();
    await handle.write(Buffer.alloc(64_000, 'x'), 0, 64_000, Math.floor(size / 8192) * 4096);
    const { code, stderr } = await runProgram(['--data-dir', dir.path, '--secure-port=0']);
    expect(code).toBe(1);
    expect(stderr).toContain(`${file} is damaged`);
    expect(stderr).toContain('control-plane-lite restore --force BACKUP');
  });

  test('does not start beside another one in the same folder', async () => {
    await using dir = await createTempDir('na-disk-');
    await using program = await startProgram(dir.path);
    const { code, stderr } = await runProgram(['--data-dir', dir.path, '--secure-port=0']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/is in use by another/);
    expect((await program.call('POST', COLLECTION, object('first'))).status).toBe(201);
    const restored = await runProgram(['restore', '/nowhere', '--data-dir', dir.path]);
    expect(restored.code).toBe(1);
    expect(restored.stderr).not.toBe('');
  });

  test('does not start on a full or read-only disk, and reports it', async () => {
    await using disk = await createDisk('-t', 'tmpfs', '-o', 'size=64k', 'tmpfs');
    await writeFile(join(disk.path, 'filler'), Buffer.alloc(56 * 1024));
    const full = await runProgram(['--data-dir', join(disk.path, 'd'), '--secure-port=0']);
    expect(full.code).toBe(1);
    expect(full.stderr).toMatch(/no space/i);
    await disk.mount('-o', 'remount,ro');
    const readOnly = await runProgram(['--data-dir', join(disk.path, 'e'), '--secure-port=0']);
    expect(readOnly.code).toBe(1);
    expect(readOnly.stderr).toMatch(/read-only/i);
  });
});
