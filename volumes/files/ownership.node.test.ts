import { lstatSync, statSync } from 'node:fs';
import { chmod, chown, link, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTestHost } from '../manage/host.fixture.ts';
import { createMounter } from '../mount/mounter.ts';
import { groupMode, type OwnershipRequest, setOwnership } from './ownership.ts';
import { MS_BIND } from './syscalls.ts';

const GID = 4321;
const request: OwnershipRequest = { gid: GID, readOnly: false, onRootMismatch: false };
const seen = (path: string): readonly number[] => [lstatSync(path).gid, lstatSync(path).mode & 0o7777];

describe('groupMode', () => {
  test.each([
    [0o600, false, false, 0o660],
    [0o444, false, true, 0o444],
    [0o755, false, false, 0o775],
    [0o700, true, false, 0o2770],
    [0o755, true, true, 0o2755],
    [0o1777, true, false, 0o3777],
  ])('of %o (directory %s, read-only %s) is %o', (mode, isDirectory, readOnly, expected) => {
    expect(groupMode(mode, isDirectory, readOnly)).toBe(expected);
  });
});

describe('setOwnership', () => {
  test('changes everything in the tree, and nothing behind links and mounts', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const volume = join(t.base, 'volume');
    const outside = join(t.base, 'outside');
    await mkdir(join(volume, 'a/b'), { recursive: true });
    await mkdir(join(volume, 'mounted'));
    await mkdir(outside);
    await writeFile(join(outside, 'f'), 'x', { mode: 0o600 });
    await writeFile(join(volume, 'a/b/f'), 'x', { mode: 0o600 });
    await writeFile(Buffer.concat([Buffer.from(`${volume}/a/`), Buffer.from([0xff])]), 'x');
    await symlink(join(outside, 'f'), join(volume, 'a/link'));
    await symlink(outside, join(volume, 'dirlink'));
    await symlink('nowhere', join(volume, 'dangling'));
    await syscalls.mount({ source: outside, target: join(volume, 'mounted'), flags: MS_BIND });
    const before = [seen(outside), seen(join(outside, 'f'))];
    await setOwnership(syscalls, volume, request);
    expect([seen(outside), seen(join(outside, 'f'))]).toEqual(before);
    expect(seen(join(volume, 'a/b/f'))).toEqual([GID, 0o660]);
    expect(seen(join(volume, 'a/b'))).toEqual([GID, 0o2775]);
    expect(seen(volume)).toEqual([GID, 0o2775]);
    expect(lstatSync(join(volume, 'a/link')).gid).toBe(GID);
    expect(lstatSync(Buffer.concat([Buffer.from(`${volume}/a/`), Buffer.from([0xff])])).gid).toBe(GID);
  });

  test('with OnRootMismatch checks only the root', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const volume = join(t.base, 'volume');
    await mkdir(volume);
    await writeFile(join(volume, 'f'), 'x');
    await setOwnership(syscalls, volume, request);
    await chown(join(volume, 'f'), 0, 0);
    await setOwnership(syscalls, volume, { ...request, onRootMismatch: true });
    expect(statSync(join(volume, 'f')).gid).toBe(0);
    await chmod(volume, 0o700);
    await setOwnership(syscalls, volume, { ...request, onRootMismatch: true });
    expect(statSync(join(volume, 'f')).gid).toBe(GID);
  });

  test('is idempotent and handles hard links and wide directories', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const volume = join(t.base, 'volume');
    await mkdir(volume);
    for (let index = 0; index < 200; index += 1) await writeFile(join(volume, `f${index}`), '');
    await link(join(volume, 'f0'), join(volume, 'hard'));
    await setOwnership(syscalls, volume, request);
    await setOwnership(syscalls, volume, request);
    expect(seen(join(volume, 'f199'))[0]).toBe(GID);
  });

  test('stops when its signal fires, and leaves the root for the next run', async () => {
    await using t = await createTestHost();
    const { syscalls } = createMounter();
    const volume = join(t.base, 'volume');
    await mkdir(join(volume, 'a'), { recursive: true });
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(setOwnership(syscalls, volume, request, signal)).rejects.toThrow('stopped');
    expect(statSync(volume).gid).toBe(0);
  });
});
