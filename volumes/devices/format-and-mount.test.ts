import { describe, expect, test } from 'vitest';
import { decideFormat } from './format-and-mount.ts';
import type { DeviceContent } from './probe.ts';

const fileSystem = (fsType: string): DeviceContent => ({ kind: 'fileSystem', fsType });
const EMPTY: DeviceContent = { kind: 'empty' };

describe('decideFormat', () => {
  test.each<[string, DeviceContent, string, boolean, object]>([
    ['formats an empty disk', EMPTY, 'ext4', false, { kind: 'format', args: ['-q', '-F', '-m0'] }],
    ['formats with ext3', EMPTY, 'ext3', false, { kind: 'format', args: ['-q', '-F', '-m0'] }],
    ['formats with ext2', EMPTY, 'ext2', false, { kind: 'format', args: ['-q'] }],
    ['formats with other file systems', EMPTY, 'f2fs', false, { kind: 'format', args: [] }],
    ['formats with xfs, without force', EMPTY, 'xfs', false, { kind: 'format', args: ['-q'] }],
    [
      'restarts an interrupted formatting',
      { kind: 'unfinished', fsType: 'xfs' },
      'xfs',
      false,
      { kind: 'format', args: ['-q', '-f'] },
    ],
    [
      'restarts an interrupted formatting with another file system',
      { kind: 'unfinished', fsType: 'btrfs' },
      'ext4',
      false,
      { kind: 'format', args: ['-q', '-F', '-m0'] },
    ],
    [
      'rejects an empty read-only disk',
      EMPTY,
      'ext4',
      true,
      { kind: 'refuse', why: expect.any(String) as string },
    ],
    ['checks before it mounts', fileSystem('ext4'), 'ext4', false, { kind: 'check' }],
    ['mounts for reading without a check', fileSystem('ext4'), 'ext4', true, { kind: 'mount' }],
    ['leaves the check of xfs to the kernel', fileSystem('xfs'), 'xfs', false, { kind: 'mount' }],
    ['mounts ext3 as ext4', fileSystem('ext3'), 'ext4', false, { kind: 'check' }],
    [
      'rejects another file system and reports both',
      fileSystem('xfs'),
      'ext4',
      false,
      { kind: 'refuse', why: '/dev/x has the file system xfs, but ext4 is requested' },
    ],
    [
      'rejects ext4 as ext3',
      fileSystem('ext4'),
      'ext3',
      false,
      { kind: 'refuse', why: expect.stringContaining('ext3') as string },
    ],
    [
      'rejects other content and describes it',
      { kind: 'other', what: 'a partition table (gpt)' },
      'ext4',
      false,
      {
        kind: 'refuse',
        why: expect.stringContaining('a partition table (gpt) on it: refusing to format it') as string,
      },
    ],
  ])('%s', (_, content, fsType, readOnly, plan) => {
    expect(decideFormat(content, { device: '/dev/x', fsType, readOnly }, false)).toEqual(plan);
  });

  const UNKNOWN: DeviceContent = { kind: 'unknown' };
  const asked = { device: '/dev/x', fsType: 'btrfs', readOnly: false };

  test('rejects unrecognized data, unless it started to format the device', () => {
    expect(decideFormat(UNKNOWN, asked, false).kind).toBe('refuse');
    expect(decideFormat(UNKNOWN, asked, true)).toEqual({ kind: 'format', args: ['-q', '-f'] });
    expect(decideFormat(UNKNOWN, { ...asked, readOnly: true }, true).kind).toBe('refuse');
  });

  test.each<DeviceContent>([{ kind: 'other', what: 'swap' }, fileSystem('xfs')])(
    'leaves alone %j, though it began to format it',
    (content) => {
      expect(decideFormat(content, asked, true).kind).toBe('refuse');
    },
  );
});
