import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MissingProgramError, ProgramTimeoutError } from '../programs/errors.ts';
import { nfs } from '../sources/nfs.ts';
import { knowsFileSystem, UNMOUNT_WITHOUT_SERVER } from './helper-mount.ts';
import { commandOf, createTestRequest, mountInfo } from './request.fixture.ts';

const SOURCE = { nfs: { server: '10.0.0.1', path: '/export' } };

describe('a mount by a helper program', () => {
  it('is mounted once, and found again in the mount table', async () => {
    await using test = await createTestRequest();
    const ready = await test.setUp(nfs, SOURCE);
    await test.setUp(nfs, SOURCE);
    expect(test.calls.map((call) => commandOf(call, test.base))).toEqual([
      'mount.nfs 10.0.0.1:/export DIR/data',
    ]);
    expect(ready.hostPath).toBe(join(test.base, 'nfs', 'data'));
    expect(test.remembered).toHaveLength(2);
  });

  it('persists its undo record before the mount', async () => {
    let rememberedBefore = -1;
    await using test = await createTestRequest(() => {
      rememberedBefore = test.remembered.length;
      return undefined;
    });
    await test.setUp(nfs, SOURCE);
    expect(rememberedBefore).toBe(1);
  });

  it('does not touch a directory that is mounted', async () => {
    await using test = await createTestRequest();
    const dir = join(test.base, 'nfs', 'data');
    await mkdir(dirname(dir));
    // A file in its place: creating or reading the directory fails.
    await writeFile(dir, '');
    test.mounts.push(mountInfo(dir));
    await expect(test.setUp(nfs, SOURCE)).resolves.toMatchObject({ hostPath: dir });
    expect(test.calls).toEqual([]);
  });

  it('fails with the end of the helper’s output, and leaves nothing behind', async () => {
    await using test = await createTestRequest(() => ({
      code: 32,
      stderr: 'mount.nfs: trying\nmount.nfs: access denied by server while mounting 10.0.0.1:/export\n',
    }));
    await expect(test.setUp(nfs, SOURCE)).rejects.toThrow(
      /^failed to mount 10\.0\.0\.1:\/export: mount\.nfs exited with code 32: .*access denied by server/,
    );
    expect(await readdir(join(test.base, 'nfs'))).toEqual([]);
  });

  it('unmounts after a helper that failed after its mount', async () => {
    await using test = await createTestRequest(({ program, args }) => {
      if (program === 'umount') return undefined;
      test.mounts.push(mountInfo(args[1] ?? ''));
      return { code: 1 };
    });
    await expect(test.setUp(nfs, SOURCE)).rejects.toThrow('exited with code 1');
    expect(test.unmounted).toEqual([join(test.base, 'nfs', 'data')]);
    expect(test.mounts).toEqual([]);
    expect(await readdir(join(test.base, 'nfs'))).toEqual([]);
  });

  it('fails if a successful helper mounted nothing', async () => {
    await using test = await createTestRequest(() => ({ code: 0 }));
    await expect(test.setUp(nfs, SOURCE)).rejects.toThrow('nothing is mounted');
  });

  it('reports the package of a missing helper', async () => {
    await using test = await createTestRequest(({ program }) => {
      throw new MissingProgramError(program);
    });
    await expect(test.setUp(nfs, SOURCE)).rejects.toThrow('install the Debian package nfs-common');
    expect(await readdir(join(test.base, 'nfs'))).toEqual([]);
  });

  it('aborts a hanging helper', async () => {
    await using test = await createTestRequest(({ program }) => {
      throw new ProgramTimeoutError(program, 140_000);
    });
    await expect(test.setUp(nfs, SOURCE)).rejects.toThrow('mount.nfs did not finish within 140 s');
    expect(await readdir(join(test.base, 'nfs'))).toEqual([]);
  });

  it('is aborted with the pod', async () => {
    const stop = new AbortController();
    await using test = await createTestRequest();
    stop.abort(new Error('the pod is gone'));
    await expect(test.setUp(nfs, SOURCE, { signal: stop.signal })).rejects.toThrow('the pod is gone');
    expect(await readdir(join(test.base, 'nfs'))).toEqual([]);
  });
});

describe('teardown', () => {
  it('unmounts all stacked mounts, by the mount table', async () => {
    await using test = await createTestRequest();
    const dir = join(test.base, 'nfs', 'data');
    await mkdir(dirname(dir));
    test.mounts.push(mountInfo(dir), mountInfo(dir));
    const record = { source: 'nfs', volumeName: 'data', state: {} };
    await UNMOUNT_WITHOUT_SERVER.tearDown?.(record, dir, test.request.services, test.request.signal);
    expect(test.unmounted).toEqual([dir, dir]);
    await UNMOUNT_WITHOUT_SERVER.tearDown?.(record, dir, test.request.services, test.request.signal);
    expect(test.unmounted).toHaveLength(2);
  });

  it('does not wait for the server once the mount is detached', async () => {
    await using test = await createTestRequest(({ args }) => {
      const target = args.at(-1) ?? '';
      if (test.mounts.some(({ mountPoint }) => mountPoint === target)) test.mounts.length = 0;
      // Never responds.
      return new Promise(() => undefined);
    });
    const dir = join(test.base, 'nfs', 'data');
    await mkdir(dirname(dir));
    test.mounts.push(mountInfo(dir));
    const record = { source: 'nfs', volumeName: 'data', state: {} };
    await UNMOUNT_WITHOUT_SERVER.tearDown?.(record, dir, test.request.services, test.request.signal);
    expect(test.calls.map((call) => commandOf(call, test.base))).toEqual([
      'umount --internal-only --no-canonicalize --lazy DIR/data',
    ]);
  });

  it('fails with the message of umount', async () => {
    await using test = await createTestRequest(() => ({ code: 32, stderr: 'umount: not permitted' }));
    const dir = join(test.base, 'nfs', 'data');
    await mkdir(dirname(dir));
    test.mounts.push(mountInfo(dir));
    const record = { source: 'nfs', volumeName: 'data', state: {} };
    await expect(
      UNMOUNT_WITHOUT_SERVER.tearDown?.(record, dir, test.request.services, test.request.signal),
    ).rejects.toThrow(/failed to unmount .*: umount .*not permitted/);
  });

  it('skips a volume that contains another mount', async () => {
    await using test = await createTestRequest();
    const dir = join(test.base, 'nfs', 'data');
    await mkdir(dirname(dir));
    test.mounts.push(mountInfo(dir), mountInfo(`${dir}/inside`));
    await UNMOUNT_WITHOUT_SERVER.tearDown?.(
      { source: 'nfs', volumeName: 'data', state: {} },
      dir,
      test.request.services,
      test.request.signal,
    );
    expect(test.unmounted).toEqual([]);
  });
});

describe('knowsFileSystem', () => {
  it('reads the kernel’s list', async () => {
    await using test = await createTestRequest();
    const list = join(test.base, 'filesystems');
    await writeFile(list, 'nodev\tproc\n\text4\nnodev\tnfs4\n');
    expect(await knowsFileSystem('proc', list)).toBe(true);
    expect(await knowsFileSystem('ext4', list)).toBe(true);
    expect(await knowsFileSystem('nfs', list)).toBe(false);
    expect(await knowsFileSystem('nfs', `${list}.none`)).toBe(true);
  });
});
