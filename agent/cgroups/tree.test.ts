import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type CgroupFs, realFs } from './cgroup-fs.ts';
import { parseHierarchies } from './hierarchies.ts';
import { createCgroupTree } from './tree.ts';

const mount = (dir: string, type: string, options: string): string =>
  `30 23 0:26 / ${dir} rw shared:4 - ${type} ${type} rw,${options}\n`;

/** Directories on disk that are removed with their files, like those of cgroups. */
const fs: CgroupFs = { ...realFs, rmdir: (path) => rm(path, { recursive: true }) };

const v1 = (root: string): string =>
  ['cpu,cpuacct', 'memory', 'pids', 'freezer'].map((one) => mount(`${root}/${one}`, 'cgroup', one)).join('');

test('version 1 is detected by its controllers, version 2 by its single mount', () => {
  expect(parseHierarchies(v1('/c') + mount('/c/unified', 'cgroup2', ''))).toMatchObject({
    version: 1,
    all: ['/c/cpu,cpuacct', '/c/memory', '/c/pids', '/c/freezer', '/c/unified'],
  });
  expect(parseHierarchies(mount('/c', 'cgroup2', ''))?.version).toBe(2);
  expect(
    parseHierarchies(mount('/c/systemd', 'cgroup', 'name=systemd') + mount('/c', 'cgroup2', ''))?.version,
  ).toBe(2);
  expect(parseHierarchies('')).toBeUndefined();
});

describe('version 1', () => {
  test('is created in hierarchies with limits, and removed from all', async () => {
    await using dir = await createTempDir();
    const hierarchies = parseHierarchies(v1(dir.path));
    if (hierarchies === undefined) throw new Error('no hierarchies');
    const tree = createCgroupTree({ hierarchies, clock: systemClock, fs });
    await tree.create('/pods/podU');
    await mkdir(join(dir.path, 'freezer/pods/podU/c1'), { recursive: true });
    expect(await tree.apply('/pods/podU', { cpuShares: 512n, memoryBytes: 4096n })).toEqual([]);
    expect(await readFile(join(dir.path, 'cpu,cpuacct/pods/podU/cpu.shares'), 'utf8')).toBe('512');
    expect(await readFile(join(dir.path, 'memory/pods/podU/memory.limit_in_bytes'), 'utf8')).toBe('4096');
    expect(await tree.exists('/pods/podU')).toBe(true);
    await tree.remove('/pods/podU');
    expect(existsSync(join(dir.path, 'freezer/pods/podU'))).toBe(false);
    expect(existsSync(join(dir.path, 'memory/pods'))).toBe(true);
    await tree.remove('/pods/podU');
  });
});

describe('version 2', () => {
  async function unified(root: string, controllers: string) {
    await writeFile(join(root, 'cgroup.controllers'), controllers);
    const hierarchies = parseHierarchies(mount(root, 'cgroup2', ''));
    if (hierarchies === undefined) throw new Error('no hierarchies');
    const made: string[] = [];
    const withFiles: CgroupFs = {
      ...fs,
      async mkdir(path) {
        await fs.mkdir(path);
        await writeFile(join(path, 'cgroup.controllers'), controllers);
      },
      async write(path, text) {
        made.push(`${path.slice(root.length)} ${text}`);
        if (path.endsWith('refused.max')) throw new Error('refused');
        await fs.write(path, text);
      },
    };
    return { tree: createCgroupTree({ hierarchies, clock: systemClock, fs: withFiles }), made };
  }

  test('delegates its controllers, each once', async () => {
    await using dir = await createTempDir();
    const { tree, made } = await unified(dir.path, 'cpu memory io pids\n');
    await tree.create('/pods/podU');
    await tree.create('/pods/podV');
    expect(made).toEqual(
      ['', '/pods'].flatMap((at) =>
        ['cpu', 'memory', 'pids'].map((one) => `${at}/cgroup.subtree_control +${one}`),
      ),
    );
    expect(await tree.controllers('/pods')).toEqual(new Set(['cpu', 'memory', 'pids']));
  });

  test('writes changes only, returns rejected limits, and leaves the limits of others', async () => {
    await using dir = await createTempDir();
    const { tree, made } = await unified(dir.path, 'cpu memory pids\n');
    await tree.create('/p');
    await tree.apply('/p', { pids: 5n }, 'keep');
    expect(made.filter((one) => one.startsWith('/p/'))).toEqual(['/p/pids.max 5']);
    await tree.apply('/p', { pids: 5n });
    expect(made.filter((one) => one.startsWith('/p/pids.max'))).toHaveLength(1);
    tree.forgetApplied();
    await tree.apply('/p', { pids: 5n });
    expect(made.filter((one) => one.startsWith('/p/pids.max'))).toHaveLength(2);
    const errors = await tree.apply('/nowhere', { pids: 1n }, 'keep');
    expect(errors.map(({ write }) => write.file)).toEqual(['pids.max']);
  });

  test('counts OOM kills', async () => {
    await using dir = await createTempDir();
    const { tree } = await unified(dir.path, 'memory\n');
    await tree.create('/p');
    await writeFile(join(dir.path, 'p/memory.events'), 'low 0\noom 3\noom_kill 2\n');
    expect(await tree.oomKills('/p')).toBe(2);
  });
});

test('processes in a cgroup are killed before its removal', async () => {
  await using dir = await createTempDir();
  const hierarchies = parseHierarchies(mount(dir.path, 'cgroup', 'memory'));
  if (hierarchies === undefined) throw new Error('no hierarchies');
  const killed: number[] = [];
  const busy: CgroupFs = {
    ...fs,
    rmdir: (path) =>
      killed.length === 0
        ? Promise.reject(Object.assign(new Error('busy'), { code: 'EBUSY' }))
        : fs.rmdir(path),
  };
  const tree = createCgroupTree({
    hierarchies,
    clock: systemClock,
    fs: busy,
    kill: (pid) => killed.push(pid),
  });
  await mkdir(join(dir.path, 'p/c1'), { recursive: true });
  await writeFile(join(dir.path, 'p/c1/cgroup.procs'), '0\n1\n4711\n');
  await tree.remove('/p');
  expect(killed).toEqual([4711]);
  expect(existsSync(join(dir.path, 'p'))).toBe(false);
});
