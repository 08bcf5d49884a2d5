import { describe, expect, it, test } from 'vitest';
import type { PersistentVolume, PersistentVolumeClaim } from '../../gen/core-v1.ts';
import { decode } from '../decode.ts';
import { validatePersistentVolume, validatePersistentVolumeClaim } from './persistent-volume.ts';

const list = (errors: readonly { readonly kind: string; readonly field: string }[]): readonly string[] =>
  errors.map((error) => `${error.kind} ${error.field}`);

describe('validatePersistentVolume', () => {
  const errors = (spec: object, metadata: object = { name: 'p' }): readonly string[] => {
    const base = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
    return list(
      validatePersistentVolume(
        decode<PersistentVolume>('core/v1.PersistentVolume', { metadata, spec: { ...base, ...spec } }).value,
      ),
    );
  };
  const hostPath = { path: '/p' };
  const nodeAffinity = {
    required: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }] },
  };
  test.each([
    ['on the host', { hostPath }, []],
    ['of each other source', { nfs: { server: 's', path: '/p' } }, []],
    ['local', { local: { path: '/p' }, nodeAffinity }, []],
    ['local that goes up', { local: { path: '/p/..' }, nodeAffinity }, ['FieldValueInvalid spec.local.path']],
    ['local without a node', { local: { path: '/p' } }, ['FieldValueRequired spec.nodeAffinity']],
    ['without a source', {}, ['FieldValueRequired spec']],
    ['with two sources', { hostPath, nfs: { server: 's', path: '/p' } }, ['FieldValueForbidden spec.nfs']],
    ['without modes', { hostPath, accessModes: [] }, ['FieldValueRequired spec.accessModes']],
    [
      'with modes that exclude each other',
      { hostPath, accessModes: ['ReadWriteOncePod', 'ReadWriteOnce'] },
      ['FieldValueForbidden spec.accessModes'],
    ],
    ['without a size', { hostPath, capacity: {} }, ['FieldValueRequired spec.capacity.storage']],
    [
      'of no size',
      { hostPath, capacity: { storage: '0', cpu: '1' } },
      ['FieldValueNotSupported spec.capacity', 'FieldValueInvalid spec.capacity.storage'],
    ],
    ['of a bad class', { hostPath, storageClassName: 'A' }, ['FieldValueInvalid spec.storageClassName']],
    [
      'that recycles the host',
      { hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
      ['FieldValueForbidden spec.persistentVolumeReclaimPolicy'],
    ],
    [
      'of a driver without a handle',
      { csi: { driver: 'a/b', volumeHandle: '' } },
      ['FieldValueRequired spec.csi.volumeHandle', 'FieldValueInvalid spec.csi.driver'],
    ],
    [
      'with an empty node selector',
      { hostPath, nodeAffinity: { required: { nodeSelectorTerms: [] } } },
      ['FieldValueRequired spec.nodeAffinity.required.nodeSelectorTerms'],
    ],
  ])('%s', (_, spec, expected) => expect(errors(spec)).toEqual(expected));

  it('has no namespace, but a spec', () => {
    expect(errors({ hostPath }, { name: 'p', namespace: 'n' })).toEqual([
      'FieldValueForbidden metadata.namespace',
    ]);
    expect(list(validatePersistentVolume({ metadata: { name: 'p' } }))).toEqual(['FieldValueRequired spec']);
  });
});

describe('validatePersistentVolumeClaim', () => {
  const errors = (spec: object): readonly string[] => {
    const base = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    const value = { metadata: { name: 'p', namespace: 'n' }, spec: { ...base, ...spec } };
    return list(
      validatePersistentVolumeClaim(
        decode<PersistentVolumeClaim>('core/v1.PersistentVolumeClaim', value).value,
      ),
    );
  };
  test.each([
    ['that is good', { storageClassName: '', selector: { matchLabels: { a: 'b' } } }, []],
    ['without modes', { accessModes: [] }, ['FieldValueRequired spec.accessModes']],
    ['without a size', { resources: {} }, ['FieldValueRequired spec.resources.requests.storage']],
    [
      'of a negative size',
      { resources: { requests: { storage: '-1' } } },
      ['FieldValueInvalid spec.resources.requests.storage'],
    ],
    [
      'above its limit',
      { resources: { requests: { storage: '2' }, limits: { storage: '1' } } },
      ['FieldValueInvalid spec.resources.requests.storage'],
    ],
    ['of a bad class', { storageClassName: 'a b' }, ['FieldValueInvalid spec.storageClassName']],
    [
      'with a bad selector',
      {
        selector: {
          matchLabels: { 'a b': '-' },
          matchExpressions: [
            { key: 'a', operator: 'In' },
            { key: 'a', operator: 'Exists', values: ['x'] },
            { key: '-', operator: 'In', values: ['-'] },
          ],
        },
      },
      [
        'FieldValueInvalid spec.selector.matchLabels',
        'FieldValueInvalid spec.selector.matchLabels[a b]',
        'FieldValueRequired spec.selector.matchExpressions[0].values',
        'FieldValueForbidden spec.selector.matchExpressions[1].values',
        'FieldValueInvalid spec.selector.matchExpressions[2].key',
        'FieldValueInvalid spec.selector.matchExpressions[2].values[0]',
      ],
    ],
    [
      'from a source without a name',
      { dataSource: { kind: 'PersistentVolumeClaim', name: '' } },
      ['FieldValueRequired spec.dataSource.name'],
    ],
  ])('%s', (_, spec, expected) => expect(errors(spec)).toEqual(expected));

  it('needs a spec', () => {
    expect(list(validatePersistentVolumeClaim({ metadata: { name: 'p', namespace: 'n' } }))).toEqual([
      'FieldValueRequired spec',
    ]);
  });
});
