import { describe, expect, test } from 'vitest';
import { cgroupFolders } from './cgroup-paths.ts';
import { mountPointsUnder } from './mounts.ts';
import { isContainerdOf, isShimOf, type ProcessImage, parsePidFile, withDescendants } from './process.ts';
import { hasSysResource } from './programs.ts';

function image(change: Partial<ProcessImage>): ProcessImage {
  return { pid: 10, parentPid: 1, program: 'containerd', args: ['containerd'], ...change };
}

describe('parsePidFile', () => {
  test.each([
    ['12\n', 12],
    ['0', undefined],
    ['-1', undefined],
    ['12 13', undefined],
    ['', undefined],
    ['99999999999', undefined],
  ])('reads %j as %s', (text, expected) => {
    expect(parsePidFile(text)).toBe(expected);
  });
});

describe('isContainerdOf', () => {
  const args = ['/usr/bin/containerd', '--config', '/c.toml'];
  test.each<[string, Partial<ProcessImage>, boolean]>([
    ['the instance', { args }, true],
    ['an instance of another configuration', { args: ['containerd', '--config', '/d.toml'] }, false],
    ['one without configuration', { args: ['containerd'] }, false],
    ['another program with the same arguments', { args, program: 'vi' }, false],
  ])('%s', (_, change, expected) => {
    expect(isContainerdOf(image(change), '/c.toml')).toBe(expected);
  });
});

describe('isShimOf', () => {
  test.each<[string, Partial<ProcessImage>, boolean]>([
    ['its shim', { program: 'containerd-shim-runc-v2', args: ['shim', '-address', '/s'] }, true],
    ['the shim of another', { program: 'containerd-shim-runc-v2', args: ['shim', '-address', '/t'] }, false],
    ['a shell with the words', { program: 'sh', args: ['sh', '-address', '/s'] }, false],
  ])('%s', (_, change, expected) => {
    expect(isShimOf(image(change), '/s')).toBe(expected);
  });
});

describe('withDescendants', () => {
  test('finds descendants in any order', () => {
    const all = [
      image({ pid: 4, parentPid: 3 }),
      image({ pid: 3, parentPid: 2 }),
      image({ pid: 2 }),
      image({ pid: 5 }),
    ];
    const found = withDescendants([image({ pid: 2 })], all).map((process) => process.pid);
    expect(found.sort((a, b) => a - b)).toEqual([2, 3, 4]);
  });
});

describe('hasSysResource', () => {
  test.each([
    ['CapEff:\t000001ffffffffff', true],
    ['CapEff:\t000001fffeffffff', false],
    ['Name:\tx', false],
  ])('%j: %s', (status, expected) => {
    expect(hasSysResource(`Name:\tnode\n${status}\nSeccomp:\t0\n`)).toBe(expected);
  });
});

describe('mountPointsUnder', () => {
  test('lists the folder and what is below it, last first, and nothing else', () => {
    const line = (point: string): string => `36 35 98:0 / ${point} rw - ext4 /dev/root rw`;
    const text = ['/a', '/ab', '/a/b', '/a/b/c\\040d', '/'].map(line).join('\n');
    expect(mountPointsUnder(text, '/a')).toEqual(['/a/b/c d', '/a/b', '/a']);
  });
});

describe('cgroupFolders', () => {
  test('returns the directories of v1, named and unified hierarchies, but no root', () => {
    expect(cgroupFolders('9:name=systemd:/x\n4:cpu,cpuacct:/y/z\n3:pids:/\n0::/u\n', '/c')).toEqual([
      '/c/systemd/x',
      '/c/cpu,cpuacct/y/z',
      '/c/u',
      '/c/unified/u',
    ]);
  });
});
