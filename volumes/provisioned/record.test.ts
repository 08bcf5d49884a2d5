import { describe, expect, test } from 'vitest';
import { formatRecord, isVolumeName, type LocalVolumeRecord, parseRecord } from './record.ts';

const RECORD: LocalVolumeRecord = {
  name: 'default_data',
  kind: 'directory',
  owner: 'manifest',
  sizeBytes: 1024,
  reclaimPolicy: 'Retain',
  claim: { namespace: 'default', name: 'data' },
  state: 'ready',
  used: true,
  users: ['a'],
};

describe('parseRecord', () => {
  test('returns what was formatted', () => {
    expect(parseRecord(formatRecord(RECORD), RECORD.name)).toEqual(RECORD);
  });

  test.each<[object, RegExp]>([
    [{ version: 2 }, /not written by this version/],
    [{ name: 'other' }, /names "other"/],
    [{ kind: 'disk' }, /kind is unknown/],
    [{ owner: 'x' }, /owner is unknown/],
    [{ sizeBytes: -1 }, /sizeBytes/],
    [{ sizeBytes: 1.5 }, /sizeBytes/],
    [{ reclaimPolicy: 'Recycle' }, /reclaimPolicy/],
    [{ state: 'x' }, /state/],
    [{ claim: 1 }, /claim/],
  ])('rejects %j', (change, message) => {
    expect(() => parseRecord(JSON.stringify({ version: 1, ...RECORD, ...change }), RECORD.name)).toThrow(
      message,
    );
  });

  test.each(['', '.', '..', '.removed-a', 'a/b', '/a', 'A', 'a\0', 'a'.repeat(251)])(
    'isVolumeName rejects %j',
    (name) => {
      expect(isVolumeName(name)).toBe(false);
    },
  );
});
