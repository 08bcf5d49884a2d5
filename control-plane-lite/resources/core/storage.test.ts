import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject, Cell, KindEntry } from '../contract.ts';
import { persistentVolumeKind } from './persistent-volume.ts';
import { persistentVolumeClaimKind } from './persistent-volume-claim.ts';
import {
  changed,
  contextWith,
  createFaultsOf,
  NOW,
  NOW_MS,
  objectOf,
  updateFaultsOf,
} from './strategy.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const CLASS = `volume.beta.${vocabulary.domain}/storage-class`;
const rowOf = ({ strategy }: KindEntry, object: ApiObject): readonly Cell[] | undefined =>
  strategy.row?.(object, { nowMs: NOW_MS, vocabulary });

describe('PersistentVolume', () => {
  const BASE = {
    metadata: { name: 'v' },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'd.example.com', volumeHandle: 'h' },
    },
  };
  const volume = (changes: object = {}): ApiObject =>
    objectOf('core/v1.PersistentVolume', changed(BASE, changes));
  const affinity = (value: string): object => ({
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: [value] }] }] },
  });

  test('is pending at first, whatever was sent', () => {
    const draft = volume({ status: { phase: 'Bound' } });
    persistentVolumeKind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['status']).toEqual({ phase: 'Pending' });
  });

  test.each<[string, object, object, readonly string[]]>([
    ['takes a claim', {}, { spec: { claimRef: { name: 'c' } } }, []],
    ['grows', {}, { spec: { capacity: { storage: '2Gi' } } }, []],
    ['takes another policy', {}, { spec: { persistentVolumeReclaimPolicy: 'Delete' } }, []],
    [
      'keeps its source',
      {},
      { spec: { csi: { driver: 'd.example.com', volumeHandle: 'i' } } },
      ['FieldValueForbidden spec.persistentvolumesource'],
    ],
    [
      'keeps its kind of source',
      {},
      { spec: { csi: undefined, nfs: { server: 's', path: '/' } } },
      ['FieldValueForbidden spec.persistentvolumesource'],
    ],
    [
      'takes a secret for growth',
      {},
      { spec: { csi: { ...BASE.spec.csi, controllerExpandSecretRef: { name: 's', namespace: 'n' } } } },
      [],
    ],
    [
      'keeps a secret for growth',
      { spec: { csi: { ...BASE.spec.csi, controllerExpandSecretRef: { name: 's', namespace: 'n' } } } },
      {},
      ['FieldValueForbidden spec.persistentvolumesource'],
    ],
    ['keeps its mode', {}, { spec: { volumeMode: 'Block' } }, ['FieldValueInvalid volumeMode']],
    ['takes an affinity', {}, { spec: { nodeAffinity: affinity('x') } }, []],
    [
      'keeps its affinity',
      { spec: { nodeAffinity: affinity('x') } },
      { spec: { nodeAffinity: affinity('y') } },
      ['FieldValueInvalid nodeAffinity'],
    ],
    ['is checked', {}, { spec: { accessModes: [] } }, ['FieldValueRequired spec.accessModes']],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(persistentVolumeKind, volume(now), volume(before))).toEqual(errors);
  });

  test.each<[object, readonly Cell[]]>([
    [
      { status: { phase: 'Available' } },
      ['v', '1Gi', 'RWO', 'Retain', 'Available', '', '', '', '<unknown>', 'Filesystem'],
    ],
    [
      {
        metadata: { creationTimestamp: NOW },
        spec: {
          accessModes: ['ReadWriteMany', 'ReadOnlyMany', 'ReadWriteOnce'],
          claimRef: { namespace: 'n', name: 'c' },
          storageClassName: 'fast',
        },
        status: { phase: 'Failed', reason: 'Gone' },
      },
      ['v', '1Gi', 'RWO,ROX,RWX', 'Retain', 'Failed', 'n/c', 'fast', 'Gone', '0s', 'Filesystem'],
    ],
    [
      {
        metadata: { deletionTimestamp: NOW, annotations: { [CLASS]: 'slow' } },
        spec: { storageClassName: 'fast' },
        status: { phase: 'Bound' },
      },
      ['v', '1Gi', 'RWO', 'Retain', 'Terminating', '', 'slow', '', '<unknown>', 'Filesystem'],
    ],
  ])('shows %j', (changes, row) => {
    expect(rowOf(persistentVolumeKind, volume(changes))).toEqual(row);
  });
});

describe('PersistentVolumeClaim', () => {
  const BASE = {
    metadata: { name: 'c', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
  };
  const claim = (changes: object = {}): ApiObject =>
    objectOf('core/v1.PersistentVolumeClaim', changed(BASE, changes));
  const size = (storage: string): object => ({ resources: { requests: { storage } } });
  const bound = { phase: 'Bound', capacity: { storage: '1Gi' } };
  const SNAPSHOT = { apiGroup: 'snapshot.storage.example.com', kind: 'VolumeSnapshot', name: 's' };

  test('is pending at first', () => {
    const draft = claim({ status: { phase: 'Bound' } });
    persistentVolumeClaimKind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['status']).toEqual({ phase: 'Pending' });
  });

  test.each([['dataSource'], ['dataSourceRef']])(
    'shows the source in both spellings if %s is given',
    (member) => {
      const draft = claim({ spec: { [member]: SNAPSHOT } });
      persistentVolumeClaimKind.strategy.normalize?.(draft);
      expect(draft['spec']).toMatchObject({ dataSource: SNAPSHOT, dataSourceRef: SNAPSHOT });
    },
  );

  test.each<[string, object, readonly string[]]>([
    ['wants a size', { spec: { resources: {} } }, ['FieldValueRequired spec.resources.requests.storage']],
    [
      'wants one source',
      { spec: { dataSource: SNAPSHOT, dataSourceRef: { ...SNAPSHOT, name: 't' } } },
      ['FieldValueInvalid spec'],
    ],
    [
      'has claims as sources of the core group',
      { spec: { dataSource: { kind: 'Pod', name: 'p' } } },
      ['FieldValueInvalid spec.dataSource'],
    ],
    [
      'takes a claim as its source',
      { spec: { dataSource: { kind: 'PersistentVolumeClaim', name: 'p' } } },
      [],
    ],
  ])('%s', (_, changes, errors) => {
    expect(createFaultsOf(persistentVolumeClaimKind, claim(changes))).toEqual(errors);
  });

  const FORBIDDEN = ['FieldValueForbidden spec'];
  const SMALLER = 'FieldValueForbidden spec.resources.requests.storage';
  test.each<[string, object, object, readonly string[]]>([
    ['takes labels', {}, { metadata: { labels: { a: 'b' } } }, []],
    ['is bound once', {}, { spec: { volumeName: 'v' } }, []],
    ['stays bound', { spec: { volumeName: 'v' } }, {}, FORBIDDEN],
    ['stays bound to one volume', { spec: { volumeName: 'v' } }, { spec: { volumeName: 'w' } }, FORBIDDEN],
    ['keeps its modes', {}, { spec: { accessModes: ['ReadWriteMany'] } }, FORBIDDEN],
    ['keeps its class', {}, { spec: { storageClassName: 'x' } }, FORBIDDEN],
    ['grows when bound', { status: bound }, { spec: size('3Gi'), status: bound }, []],
    ['grows only when bound', {}, { spec: size('3Gi') }, FORBIDDEN],
    ['does not shrink', { status: bound }, { spec: size('1Gi'), status: bound }, [SMALLER]],
    ['keeps its mode', {}, { spec: { volumeMode: 'Block' } }, [...FORBIDDEN, 'FieldValueInvalid volumeMode']],
    [
      'keeps its old annotation',
      { metadata: { annotations: { [CLASS]: 'a' } } },
      { metadata: { annotations: { [CLASS]: 'b' } } },
      [`FieldValueInvalid metadata.annotations[${CLASS}]`],
    ],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(persistentVolumeClaimKind, claim(now), claim(before))).toEqual(errors);
  });

  test.each([
    ['1500Mi', []],
    ['1Gi', [SMALLER]],
    ['500Mi', [SMALLER]],
  ])('may go back to %s from 2Gi with 1Gi there, if that is allowed', (storage, errors) => {
    const context = contextWith({ gates: new Set(['RecoverVolumeExpansionFailure']) });
    const now = claim({ spec: size(storage), status: bound });
    expect(updateFaultsOf(persistentVolumeClaimKind, now, claim({ status: bound }), '', context)).toEqual(
      errors,
    );
  });

  test('has a status of its own', () => {
    const draft = claim({ metadata: { labels: { a: 'b' } }, spec: { volumeName: 'v' }, status: bound });
    persistentVolumeClaimKind.parts?.['status']?.prepareForUpdate(draft, claim(), contextWith());
    expect(draft).toMatchObject({ spec: BASE.spec, status: bound });
    expect(draft.metadata.labels).toBeUndefined();
    const bad = claim({ status: { capacity: { storage: '-1' } } });
    expect(updateFaultsOf(persistentVolumeClaimKind, bad, claim(), 'status')).toEqual([
      'FieldValueInvalid status.capacity[storage]',
    ]);
  });

  test.each<[object, readonly Cell[]]>([
    [{ status: { phase: 'Pending' } }, ['c', 'Pending', '', '', '', '', '<unknown>', 'Filesystem']],
    [
      {
        spec: { volumeName: 'v', storageClassName: 'fast' },
        status: { ...bound, accessModes: ['ReadWriteOnce'] },
      },
      ['c', 'Bound', 'v', '1Gi', 'RWO', 'fast', '<unknown>', 'Filesystem'],
    ],
    [
      { metadata: { deletionTimestamp: NOW }, status: { phase: 'Pending' } },
      ['c', 'Terminating', '', '', '', '', '<unknown>', 'Filesystem'],
    ],
  ])('shows %j', (changes, row) => {
    expect(rowOf(persistentVolumeClaimKind, claim(changes))).toEqual(row);
  });
});
