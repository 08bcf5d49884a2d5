import { describe, expect, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { claimOf, NAMES, refTo, volumeOf } from './binder.fixture.ts';
import { bindClaim, freeVolume, preBindVolume, setClaimPhase, setVolumePhase } from './drafts.ts';

const draftOf = (object: PersistentVolume | PersistentVolumeClaim): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Any',
  metadata: {},
  ...structuredClone(object),
});
const claimRefOf = (draft: ApiObject): object | undefined => typed<PersistentVolume>(draft).spec?.claimRef;

describe('preBindVolume', () => {
  test('pre-binds a free volume and records that the controller chose it', () => {
    const draft = draftOf(volumeOf('v'));
    expect(preBindVolume(draft, claimOf(), NAMES)).toBe(true);
    expect(claimRefOf(draft)).toMatchObject({ namespace: 'ns', name: 'c', uid: 'uid-c' });
    expect(draft.metadata.annotations).toEqual({ [NAMES.boundByController]: 'yes' });
    expect(preBindVolume(draft, claimOf(), NAMES)).toBe(false);
  });

  test('completes the choice of a user, and leaves it marked as the user’s', () => {
    const draft = draftOf(volumeOf('v', { claimRef: refTo('') }));
    expect(preBindVolume(draft, claimOf(), NAMES)).toBe(true);
    expect(claimRefOf(draft)).toMatchObject({ uid: 'uid-c' });
    expect(draft.metadata.annotations).toBeUndefined();
    freeVolume(draft, NAMES);
    expect(claimRefOf(draft)).toMatchObject({ name: 'c' });
    expect(claimRefOf(draft)).not.toHaveProperty('uid');
  });
});

test('freeVolume reverts the choice of the controller and leaves other annotations', () => {
  const annotations = { [NAMES.boundByController]: 'yes', other: '1' };
  const draft = draftOf(volumeOf('v', { claimRef: refTo() }, { annotations }));
  freeVolume(draft, NAMES);
  expect(claimRefOf(draft)).toBeUndefined();
  expect(draft.metadata.annotations).toEqual({ other: '1' });
});

describe('bindClaim', () => {
  test.each([
    ['that the controller chose', {}, [NAMES.bindCompleted, NAMES.boundByController]],
    ['that the claim names', { volumeName: 'v' }, [NAMES.bindCompleted]],
  ])('notes a volume %s', (_, spec, annotations) => {
    const draft = draftOf(claimOf(spec));
    expect(bindClaim(draft, volumeOf('v'), NAMES)).toBe(true);
    expect(typed<PersistentVolumeClaim>(draft).spec?.volumeName).toBe('v');
    expect(Object.keys(draft.metadata.annotations ?? {}).toSorted()).toEqual(annotations.toSorted());
    expect(bindClaim(draft, volumeOf('v'), NAMES)).toBe(false);
  });
});

describe('setClaimPhase', () => {
  test('copies the properties of the volume, and leaves the size of a bound claim', () => {
    const draft = draftOf(claimOf());
    expect(setClaimPhase(draft, 'Bound', volumeOf('v'))).toBe(true);
    expect(draft['status']).toEqual({
      phase: 'Bound',
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '10Gi' },
    });
    expect(setClaimPhase(draft, 'Bound', volumeOf('v', { capacity: { storage: '20Gi' } }))).toBe(false);
    expect(setClaimPhase(draft, 'Lost')).toBe(true);
    expect(draft['status']).toEqual({ phase: 'Lost' });
    expect(setClaimPhase(draft, 'Lost')).toBe(false);
  });
});

test('setVolumePhase sets the message and removes it again', () => {
  const draft = draftOf(volumeOf('v'));
  expect(setVolumePhase(draft, 'Available', '')).toBe(false);
  expect(setVolumePhase(draft, 'Failed', 'why')).toBe(true);
  expect(draft['status']).toEqual({ phase: 'Failed', message: 'why' });
  expect(setVolumePhase(draft, 'Available', '')).toBe(true);
  expect(draft['status']).toEqual({ phase: 'Available' });
});
