/** Claims and volumes for tests. */
import type { PersistentVolume, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type BinderNames, binderNames } from './model.ts';

export const NAMES: BinderNames = binderNames(VOCABULARIES.plat);

type Metadata = NonNullable<PersistentVolume['metadata']>;

/** A claim for 5Gi of class `fast`, uid `uid-c`. */
export const claimOf = (
  spec: PersistentVolumeClaim['spec'] = {},
  metadata: Metadata = {},
): PersistentVolumeClaim => ({
  metadata: { name: 'c', namespace: 'ns', uid: 'uid-c', ...metadata },
  spec: {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '5Gi' } },
    storageClassName: 'fast',
    ...spec,
  },
});

/** An available volume of 10Gi of class `fast`. */
export const volumeOf = (
  name: string,
  spec: PersistentVolume['spec'] = {},
  metadata: Metadata = {},
  phase: NonNullable<PersistentVolume['status']>['phase'] = 'Available',
): PersistentVolume => ({
  metadata: { name, uid: `uid-${name}`, ...metadata },
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '10Gi' },
    storageClassName: 'fast',
    ...spec,
  },
  status: { phase },
});

/** A reference to the claim, by default with its uid. */
export const refTo = (uid = 'uid-c', name = 'c'): NonNullable<PersistentVolume['spec']>['claimRef'] & {} => ({
  kind: 'PersistentVolumeClaim',
  namespace: 'ns',
  name,
  ...(uid === '' ? {} : { uid }),
});
