/** PersistentVolumes. Source: persistent volumes, document 3 §2.5; upstream's persistent volume strategy,
 *  release 1.24. */

import type { PersistentVolume, PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { createBoundedFieldErrors } from '#api/schema/validation/field-errors.ts';
import {
  persistentVolumeSource,
  validatePersistentVolumeContent,
} from '#api/schema/validation/persistent-volume.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { changedPaths, immutableField, sameContent } from '../content-diff.ts';
import type { ApiObject, Cell, KindEntry, StrategyContext } from '../contract.ts';
import { ageOf, UNSET } from '../rows.ts';
import { typed } from '../view.ts';
import { validateSinglePodMode } from './access-modes.ts';
import { accessModeText, phaseOf, storageClassOf } from './storage-cells.ts';

const EXPAND_SECRET = 'controllerExpandSecretRef';

/** Returns the immutable part of the source: without the expansion secret, which can be added later. */
function sourceOf(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): object {
  const source = persistentVolumeSource(spec);
  if (source.csi === undefined || old.csi?.[EXPAND_SECRET] !== undefined) return source;
  return { ...source, csi: { ...source.csi, [EXPAND_SECRET]: undefined } };
}

function validate(object: ApiObject, { gates }: StrategyContext, old?: ApiObject): readonly FieldError[] {
  const volume = typed<PersistentVolume>(object);
  const errors = createBoundedFieldErrors();
  const before = old === undefined ? undefined : typed<PersistentVolume>(old).spec?.accessModes;
  validateSinglePodMode(errors, [volume.spec?.accessModes, before], 'spec.accessModes', gates);
  return [...validatePersistentVolumeContent(volume), ...errors.all];
}

function validateUpdate(object: ApiObject, oldObject: ApiObject): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const [spec, old] = [typed<PersistentVolume>(object).spec, typed<PersistentVolume>(oldObject).spec];
  if (spec === undefined || old === undefined) return [];
  const [source, before] = [sourceOf(spec, old), persistentVolumeSource(old)];
  if (!sameContent(source, before)) {
    const changed = changedPaths(source, before, 'spec').join(', ');
    errors.forbidden(
      'spec.persistentvolumesource',
      `spec.persistentvolumesource is immutable after creation\nchanged: ${changed}`,
    );
  }
  immutableField(errors, spec.volumeMode, old.volumeMode, 'volumeMode');
  // Node affinity can be added later, but only once.
  if (old.nodeAffinity !== undefined) {
    immutableField(errors, spec.nodeAffinity, old.nodeAffinity, 'nodeAffinity');
  }
  return errors.all;
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
    validate,
    validateUpdate,
    // A name without `metadata.` is upstream's old habit, which clients may rely on.
    selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
    row: (object, { nowMs, vocabulary }) => row(object, nowMs, vocabulary),
  },
};
