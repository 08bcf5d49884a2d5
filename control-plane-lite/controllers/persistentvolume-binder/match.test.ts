import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { claimOf, NAMES, refTo, volumeOf } from './binder.fixture.ts';
import { findVolume, mismatchOf } from './match.ts';

const big = { capacity: { storage: '20Gi' } };
const small = { capacity: { storage: '1Gi' } };
const gone = { deletionTimestamp: '2026-01-01T00:00:00Z' };

describe('findVolume', () => {
  test.each<[string, PersistentVolumeClaim, readonly PersistentVolume[], string | undefined]>([
    ['the smallest', claimOf(), [volumeOf('b', big), volumeOf('a'), volumeOf('s', small)], 'a'],
    ['the first of the same size', claimOf(), [volumeOf('b'), volumeOf('a')], 'a'],
    [
      'one with fewer ways of access',
      claimOf(),
      [volumeOf('a', { accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] }), volumeOf('b', big)],
      'b',
    ],
    ['one of its class', claimOf(), [volumeOf('a', { storageClassName: 'slow' })], undefined],
    ['one with all its ways', claimOf({ accessModes: ['ReadWriteMany'] }), [volumeOf('a')], undefined],
    ['one of its mode', claimOf({ volumeMode: 'Block' }), [volumeOf('a')], undefined],
    ['one that stays', claimOf(), [volumeOf('a', {}, gone)], undefined],
    ['one that is free', claimOf(), [volumeOf('a', {}, {}, 'Released')], undefined],
    [
      'one that it selects',
      claimOf({ selector: { matchLabels: { zone: 'x' } } }),
      [volumeOf('a'), volumeOf('b', big, { labels: { zone: 'x' } })],
      'b',
    ],
    ['none of another', claimOf(), [volumeOf('a', { claimRef: refTo('', 'other') })], undefined],
    ['none of a claim before it', claimOf(), [volumeOf('a', { claimRef: refTo('uid-old') })], undefined],
    [
      'one that is pre-bound to it',
      claimOf(),
      [volumeOf('a'), volumeOf('b', { ...big, claimRef: refTo('') })],
      'b',
    ],
    [
      'none that is pre-bound but too small',
      claimOf(),
      [volumeOf('a', { ...small, claimRef: refTo('') })],
      undefined,
    ],
  ])('gives the claim %s', (_, claim, volumes, expected) => {
    expect(findVolume(claim, volumes, { names: NAMES, onlyKept: false })?.metadata?.name).toBe(expected);
  });

  test('a claim that waits for its first consumer gets only a volume that is pre-bound to it', () => {
    const options = { names: NAMES, onlyKept: true };
    expect(findVolume(claimOf(), [volumeOf('a')], options)).toBeUndefined();
    const preBound = volumeOf('b', { claimRef: refTo() });
    expect(findVolume(claimOf(), [volumeOf('a'), preBound], options)).toBe(preBound);
  });
});

test.each<[PersistentVolume, string | undefined]>([
  [volumeOf('a'), undefined],
  [volumeOf('a', {}, gone), 'the volume is marked for deletion "a"'],
  [volumeOf('a', small), 'requested PV is too small'],
  [volumeOf('a', { storageClassName: 'slow' }), 'storageClassName does not match'],
  [volumeOf('a', { volumeMode: 'Block' }), 'incompatible volumeMode'],
  [volumeOf('a', { accessModes: [] }), 'incompatible accessMode'],
])('mismatchOf %j', (volume, expected) => {
  expect(mismatchOf(volume, claimOf(), NAMES)).toBe(expected);
});
