import { describe, expect, test } from 'vitest';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimStatus,
} from '#api/gen/core-v1.ts';
import { decideExpansion, mayHaveGrown } from './decide.ts';

const claim = (status: PersistentVolumeClaimStatus, wanted = '1Gi'): PersistentVolumeClaim => ({
  spec: { resources: { requests: { storage: wanted } } },
  status,
});
const volume = (storage: string): PersistentVolume => ({ spec: { capacity: { storage } } });
const has = (storage: string) => claim({ capacity: { storage } });

describe('decideExpansion', () => {
  test.each([
    ['skips a volume that has its size', has('2Gi'), '2048Mi', false, { kind: 'none' }],
    ['skips a larger volume', has('3Gi'), '2Gi', false, { kind: 'none' }],
    ['expands a smaller volume', has('1Gi'), '2Gi', false, { kind: 'grow', size: '2Gi' }],
    ['grows nothing for reading', has('1Gi'), '2Gi', true, { kind: 'readOnly', size: '2Gi' }],
    ['skips a claim without a controller', claim({}), '2Gi', false, { kind: 'none' }],
    [
      'does not retry a final failure',
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
    ['requests its size', has('1Gi'), false],
    ['wants more', claim({ capacity }, '2Gi'), true],
    [
      'waits for the node',
      claim({ capacity, conditions: [{ type: 'FileSystemResizePending', status: 'True' }] }),
      true,
    ],
    [
      'has a resize status',
      claim({ capacity, conditions: [{ type: 'FileSystemResizePending', status: 'False' }] }),
      false,
    ],
    ['says nothing', claim({}, '2Gi'), false],
  ])('of a claim that %s: %j, %s', (_, given, expected) => {
    expect(mayHaveGrown(given)).toBe(expected);
  });
});
