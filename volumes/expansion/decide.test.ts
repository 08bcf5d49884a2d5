import { describe, expect, test } from 'vitest';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '#api/schema/gen/core-v1.ts';
import { decideExpansion, mayHaveGrown } from './decide.ts';

const claim = (status: PersistentVolumeClaimStatus, wanted = '1Gi'): PersistentVolumeClaim => ({
  spec: { resources: { requests: { storage: wanted } } },
  status,
});
const volume = (storage: string): PersistentVolume => ({ spec: { capacity: { storage } } });
const has = (storage: string) => claim({ capacity: { storage } });

describe('decideExpansion', () => {
  test.each([
    ['leaves alone what has its size', has('2Gi'), '2048Mi', false, { kind: 'none' }],
    ['leaves alone what has more', has('3Gi'), '2Gi', false, { kind: 'none' }],
    ['grows what has less', has('1Gi'), '2Gi', false, { kind: 'grow', size: '2Gi' }],
    ['grows nothing for reading', has('1Gi'), '2Gi', true, { kind: 'readOnly', size: '2Gi' }],
    ['leaves alone a claim that nobody keeps', claim({}), '2Gi', false, { kind: 'none' }],
    [
      'gives up what failed for good',
      claim({ capacity: { storage: '1Gi' }, resizeStatus: 'NodeExpansionFailed' }),
      '2Gi',
      false,
      { kind: 'none' },
    ],
  ])('%s', (_, given, size, readOnly, plan) => {
    expect(decideExpansion({ claim: given, volume: volume(size), readOnly })).toEqual(plan);
  });
});

describe('mayHaveGrown', () => {
  const capacity = { storage: '1Gi' };
  test.each([
    ['wants what it has', has('1Gi'), false],
    ['wants more', claim({ capacity }, '2Gi'), true],
    [
      'is told to wait for the node',
      claim({ capacity, conditions: [{ type: 'FileSystemResizePending', status: 'True' }] }),
      true,
    ],
    [
      'was told so',
      claim({ capacity, conditions: [{ type: 'FileSystemResizePending', status: 'False' }] }),
      false,
    ],
    ['says nothing', claim({}, '2Gi'), false],
  ])('of a claim that %s: %j, %s', (_, given, expected) => {
    expect(mayHaveGrown(given)).toBe(expected);
  });
});
