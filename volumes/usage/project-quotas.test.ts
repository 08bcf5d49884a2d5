import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { SyscallError } from '../files/syscalls.ts';
import type { ProjectCalls } from './project-calls.ts';
import { createProjectQuotas, namedProjects } from './project-quotas.ts';
import { createQuotaMeasure } from './quota-measure.ts';

const FIRST = 1_048_577;

/** Creates a file system with accounting: projects of directories in the order of assignment, and their
 *  usage. */
async function setUp(used: readonly number[] = []) {
  const folder = await createTempDir('na-quota-');
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const inodes = new Map<number, number>(used.map((project) => [project, 4]));
  const given: number[] = [];
  let supported = true;
  let current: { project: number; inherited: boolean } | undefined;
  const calls: ProjectCalls = {
    usage(_, project) {
      if (!supported) return Promise.reject(new SyscallError('quotactl', 3, 'project'));
      const count = inodes.get(project) ?? 0;
      return Promise.resolve({ usedBytes: count * 4096, inodes: count });
    },
    projectOf: () => Promise.resolve(current ?? { project: 0, inherited: false }),
    setProject(_, project) {
      given.push(project);
      inodes.set(project, 1);
      current = { project, inherited: true };
      return Promise.resolve();
    },
  };
  const failures: string[] = [];
  const quotas = createProjectQuotas({
    calls,
    named: () => Promise.resolve(new Set([FIRST + 1])),
    onFailure: (path) => failures.push(path),
  });
  const make = async (name: string): Promise<string> => {
    const path = join(folder.path, 'volumes/x~empty-dir', name);
    await mkdir(path, { recursive: true });
    current = undefined;
    return path;
  };
  return {
    quotas,
    given,
    inodes,
    failures,
    make,
    root: folder.path,
    setSupported: (value: boolean) => (supported = value),
    setCurrent: (value: typeof current) => (current = value),
  };
}

describe('createProjectQuotas', () => {
  test('assigns a free project: neither in use nor defined by an administrator', async () => {
    const { quotas, given, make } = await setUp([FIRST, FIRST + 2]);
    await quotas.adopt(await make('a'));
    await quotas.adopt(await make('b'));
    expect(given).toEqual([FIRST + 3, FIRST + 4]);
    expect(quotas.folders()).toHaveLength(2);
  });

  test('adopts the project of an earlier agent', async () => {
    const { quotas, given, inodes, make, setCurrent } = await setUp([FIRST + 9]);
    const path = await make('a');
    setCurrent({ project: FIRST + 9, inherited: true });
    await quotas.adopt(path);
    expect(given).toEqual([]);
    inodes.set(FIRST + 9, 7);
    expect(await quotas.usage(path)).toEqual({ usedBytes: 7 * 4096, inodes: 7 });
  });

  test('changes nothing on a file system without accounting', async () => {
    const { quotas, given, failures, make, setSupported } = await setUp();
    setSupported(false);
    const path = await make('a');
    await quotas.adopt(path);
    expect(given).toEqual([]);
    expect(quotas.folders()).toEqual([]);
    expect(failures).toEqual([path]);
    expect(await quotas.usage(path)).toBeUndefined();
  });

  test('ignores a directory whose owner changed its project', async () => {
    const { quotas, make, setCurrent } = await setUp();
    const path = await make('a');
    await quotas.adopt(path);
    setCurrent({ project: 5, inherited: true });
    expect(await quotas.usage(path)).toBeUndefined();
    expect(quotas.folders()).toEqual([]);
  });
});

test('createQuotaMeasure returns the accounted directories of the requested pods', async () => {
  const { quotas, make, root } = await setUp();
  const path = await make('a');
  await quotas.adopt(path);
  const space = { capacityBytes: 9, availableBytes: 8, usedBytes: 1, inodes: 5, inodesFree: 4 };
  const measure = createQuotaMeasure({ quotas, spaceOf: () => Promise.resolve(space) });
  const pod = { uid: 'u', volumesDir: join(root, 'volumes'), devicesDir: '/d', logsDir: '/l' };
  expect(await measure.measure([{ ...pod, volumesDir: '/other' }])).toEqual([]);
  expect(await measure.measure([pod])).toEqual([
    {
      path,
      measured: {
        podUID: 'u',
        of: 'volume',
        name: 'a',
        source: 'x~empty-dir',
        isOwnFs: false,
        usedBytes: 4096,
        inodesUsed: 1,
        space,
      },
    },
  ]);
});

test('namedProjects reads both files of administrators', () => {
  expect(namedProjects('# 1:/x\n10:/srv/a\n 11 :/srv/b\n')).toEqual(new Set([10, 11]));
  expect(namedProjects('alpha:12\nbeta: 13\n\n')).toEqual(new Set([12, 13]));
});
