import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../../resources/contract.ts';
import { isGrowthAlone } from './claim.ts';

const claim = (status: object, resourceVersion = '1'): ApiObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { namespace: 'ns', name: 'c', uid: 'u', resourceVersion },
  spec: { volumeName: 'pv' },
  status: { phase: 'Bound', capacity: { storage: '1Gi' }, ...status },
});

describe('isGrowthAlone', () => {
  test.each<[string, object, boolean, boolean]>([
    ['the size', { capacity: { storage: '2Gi' } }, false, true],
    ['conditions', { conditions: [{ type: 'Resizing', status: 'True' }] }, false, true],
    ['the phase', { phase: 'Lost' }, false, false],
    ['access modes', { accessModes: ['ReadWriteMany'] }, true, false],
    ['how far it is, without the feature', { resizeStatus: 'NodeExpansionFailed' }, false, false],
    ['how far it is', { resizeStatus: 'NodeExpansionFailed' }, true, true],
    ['its allocated resources', { allocatedResources: { storage: '2Gi' } }, true, true],
  ])('%s: %j', (_, status, withProgress, expected) => {
    expect(isGrowthAlone(claim(status, '2'), claim({}), withProgress)).toBe(expected);
  });

  test('not another specification', () => {
    const other = { ...claim({}), spec: { volumeName: 'other' } };
    expect(isGrowthAlone(other, claim({}), true)).toBe(false);
  });
});
