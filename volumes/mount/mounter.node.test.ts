import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { holdDir } from '../files/held-dir.ts';
import { createSyscalls, type MountCall, MS_BIND, RESOLVE_BENEATH, SyscallError } from '../files/syscalls.ts';
import { createTestHost } from '../manage/host.fixture.ts';
import { createMounter } from './mounter.ts';

const real = createSyscalls();

describe('createSyscalls', () => {
  test('reports the error, the call and the path', async () => {
    await expect(real.mount({ source: '/', target: '/na-absent', flags: MS_BIND })).rejects.toMatchObject({
      name: 'SyscallError',
      code: 'ENOENT',
      syscall: 'mount',
      message: "ENOENT: mount '/na-absent'",
    });
    await expect(real.unmount('/tmp/na-absent', 0)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('assigns errors to the right one of concurrent calls', async () => {
    await using t = await createTestHost();
    await using dir = await holdDir(t.base);
    const paths = Array.from(
      { length: 300 },
      (_, index) => ['/', 'absent', 'x'.repeat(300)][index % 3] ?? '',
    );
    const codes = await Promise.all(
      paths.map((path) =>
        real
          .openat2(dir.fd, path, { flags: 0, resolve: RESOLVE_BENEATH })
          .then(String, (thrown: unknown) => (thrown instanceof SyscallError ? thrown.code : '?')),
      ),
    );
    expect(codes).toEqual(paths.map((_, index) => ['EXDEV', 'ENOENT', 'ENAMETOOLONG'][index % 3]));
  });

  test('rejects a path with a NUL, which the kernel would truncate', async () => {
    await expect(real.unmount('/tmp/na\0/x', 0)).rejects.toMatchObject({ code: 'EINVAL' });
    await expect(real.mount({ source: 'a\0', target: '/na', flags: 0 })).rejects.toMatchObject({
      code: 'EINVAL',
    });
  });
});

describe('ensureTmpfs', () => {
  test.each([
    ['EINVAL', 22, ['mode=0755,noswap', 'mode=0755'], undefined],
    ['EPERM', 1, ['mode=0755,noswap'], 'EPERM'],
  ])('meets %s on a kernel without noswap', async (_, errno, expected, code) => {
    await using t = await createTestHost();
    const dir = join(t.base, 'dir');
    await mkdir(dir);
    const calls: MountCall[] = [];
    const mounter = createMounter({
      ...real,
      async mount(call) {
        calls.push(call);
        if (call.data?.includes('noswap') === true) throw new SyscallError('mount', errno, dir);
      },
    });
    const mounting = mounter.ensureTmpfs(dir, { mode: 0o755, noSwap: true, dataOnly: true });
    const failure: unknown = await mounting.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(failure instanceof SyscallError ? failure.code : undefined).toBe(code);
    expect(calls.map(({ data }) => data)).toEqual(expected);
  });

  test('mounts memory without set-uid programs and devices', async () => {
    await using t = await createTestHost();
    const dir = join(t.base, 'dir');
    await mkdir(dir);
    await createMounter().ensureTmpfs(dir, { mode: 0o755, noSwap: true, dataOnly: true, sizeBytes: 4096 });
    const [mount] = await t.mounts();
    expect(mount?.options).toEqual(expect.arrayContaining(['rw', 'nosuid', 'nodev']));
  });

  test('rejects a directory with another mount', async () => {
    await using t = await createTestHost();
    const dir = join(t.base, 'dir');
    await mkdir(dir);
    await real.mount({ source: 'proc', target: dir, fsType: 'proc', flags: 0 });
    await expect(createMounter().ensureTmpfs(dir, { mode: 0o755 })).rejects.toThrow('another file system');
  });
});
