/** PersistentVolumes. Source: persistent volumes, document 3 §2.5; upstream's persistent volume strategy,
 *  release 1.24. */

import type { PersistentVolume, PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createBoundedFaults } from '#api/schema/validation/faults.ts';
import {
  persistentVolumeSource,
  validatePersistentVolumeContent,
} from '#api/schema/validation/persistent-volume.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { changedPaths, immutableField, sameContent } from '../content-diff.ts';
import type { ApiObject, Cell, KindEntry } from '../contract.ts';
import { ageOf, UNSET } from '../rows.ts';
import { typed } from '../view.ts';
import { accessModeText, phaseOf, storageClassOf } from './storage-cells.ts';

const EXPAND_SECRET = 'controllerExpandSecretRef';

/** The source, without what may be added to it later: the secret for expansion. */
function sourceOf(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): object {
  const source = persistentVolumeSource(spec);
  if (source.csi === undefined || old.csi?.[EXPAND_SECRET] !== undefined) return source;
  return { ...source, csi: { ...source.csi, [EXPAND_SECRET]: undefined } };
}

function validateUpdate(object: ApiObject, oldObject: ApiObject): readonly FieldError[] {
  const faults = createBoundedFaults();
  const [spec, old] = [typed<PersistentVolume>(object).spec, typed<PersistentVolume>(oldObject).spec];
  if (spec === undefined || old === undefined) return [];
  const [source, before] = [sourceOf(spec, old), persistentVolumeSource(old)];
  if (!sameContent(source, before)) {
    const changed = changedPaths(source, before, 'spec').join(', ');
    faults.forbidden(
      'spec.persistentvolumesource',
      `spec.persistentvolumesource is immutable after creation\nchanged: ${changed}`,
    );
  }
  immutableField(faults, spec.volumeMode, old.volumeMode, 'volumeMode');
  // Where a volume can be used may be found out later, but once.
  if (old.nodeAffinity !== undefined) {
    immutableField(faults, spec.nodeAffinity, old.nodeAffinity, 'nodeAffinity');
  }
  return faults.errors;
}

function row(object: ApiObject, nowMs: number, vocabulary: Vocabulary): readonly Cell[] {
  const { spec, status } = typed<PersistentVolume>(object);
  const { claimRef, capacity } = spec ?? {};
  return [
    object.metadata.name ?? '',
    capacity?.['storage'] ?? '0',
    accessModeText(spec?.accessModes),
    spec?.persistentVolumeReclaimPolicy ?? '',
    phaseOf(object, status?.phase),
    claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
    storageClassOf(object, spec, vocabulary),
    status?.reason ?? '',
    ageOf(object, nowMs),
    spec?.volumeMode ?? UNSET,
  ];
}

export const persistentVolumeKind: KindEntry = {
  strategy: {
    countsGeneration: false,
    prepareForCreate: (draft) => {
      draft['status'] = { phase: 'Pending' };
    },
    validate: (object) => validatePersistentVolumeContent(typed<PersistentVolume>(object)),
    validateUpdate,
    // A name without `metadata.` is upstream's old habit, which clients may rely on.
    selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
    row: (object, { nowMs, vocabulary }) => row(object, nowMs, vocabulary),
  },
};
