/** PersistentVolumeClaims: immutable except for binding and expansion. Source: claims, document 3 §2.4;
 *  upstream's claim strategy, release 1.24. */

import type {
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
} from '#api/gen/core-v1.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import { compareQuantities, parseQuantity } from '#api/meta/quantity.ts';
import { createBoundedFieldErrors, type FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validatePersistentVolumeClaimContent } from '#api/schema/validation/persistent-volume.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { changedPaths, immutableField, sameContent } from '../content-diff.ts';
import type { ApiObject, Cell, KindEntry, PartStrategy, StrategyContext } from '../contract.ts';
import { keepAllBut } from '../generic.ts';
import { ageOf, UNSET } from '../rows.ts';
import { membersOf, typed } from '../view.ts';
import { validateSinglePodMode } from './access-modes.ts';
import { accessModeText, phaseOf, storageClassAnnotation, storageClassOf } from './storage-cells.ts';

const SIZE_PATH = 'spec.resources.requests.storage';

/** Reports whether `dataSource` allows this kind. Others are dropped, as before the introduction of `dataSourceRef`. */
const isClaimOrSnapshot = ({ apiGroup = '', kind }: TypedLocalObjectReference): boolean =>
  (apiGroup === '' && kind === 'PersistentVolumeClaim') ||
  (apiGroup.startsWith('snapshot.storage.') && kind === 'VolumeSnapshot');

/** Clients write one of the two sources; both are shown. */
function alignSources(draft: ApiObject): void {
  const { dataSource, dataSourceRef } = typed<PersistentVolumeClaim>(draft).spec ?? {};
  if (dataSource !== undefined && dataSourceRef === undefined && !isClaimOrSnapshot(dataSource)) {
    delete membersOf(draft, 'spec')['dataSource'];
    return;
  }
  if (dataSource !== undefined && dataSourceRef === undefined) {
    membersOf(draft, 'spec')['dataSourceRef'] = structuredClone(dataSource);
  }
  if (dataSourceRef !== undefined && dataSource === undefined) {
    membersOf(draft, 'spec')['dataSource'] = structuredClone(dataSourceRef);
  }
}

function validate(object: ApiObject, { gates }: StrategyContext, old?: ApiObject): readonly FieldError[] {
  const claim = typed<PersistentVolumeClaim>(object);
  const content = validatePersistentVolumeClaimContent(claim);
  const errors = createBoundedFieldErrors();
  const before = old === undefined ? undefined : typed<PersistentVolumeClaim>(old).spec?.accessModes;
  validateSinglePodMode(errors, [claim.spec?.accessModes, before], 'spec.accessModes', gates);
  const { dataSource, dataSourceRef } = claim.spec ?? {};
  if (dataSource === undefined || dataSourceRef === undefined || sameContent(dataSource, dataSourceRef))
    return [...content, ...errors.all];
  errors.invalid('spec', 'spec.dataSource', 'must match dataSourceRef');
  return [...content, ...errors.all];
}

const sizeOf = (spec: PersistentVolumeClaimSpec): string => spec.resources?.requests?.['storage'] ?? '0';

/** Returns the immutable part of the spec: without the volume of an unbound claim and the size of a bound one. */
function fixedPart(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec,
  phase: string | undefined,
): PersistentVolumeClaimSpec {
  const volumeName = (old.volumeName ?? '') === '' ? old.volumeName : spec.volumeName;
  const requests = spec.resources?.requests;
  const grows = phase === 'Bound' && requests !== undefined;
  const sized = { ...spec.resources, requests: { ...requests, storage: sizeOf(old) } };
  return {
    ...spec,
    ...(volumeName === undefined ? { volumeName: '' } : { volumeName }),
    ...(grows ? { resources: sized } : {}),
  };
}

function validateSize(
  errors: FieldErrors,
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaimSpec,
  gates: ReadonlySet<string>,
): void {
  const size = sizeOf(claim.spec ?? {});
  if (compareQuantities(size, sizeOf(old)) >= 0) return;
  if (!gates.has('RecoverVolumeExpansionFailure')) {
    errors.forbidden(SIZE_PATH, 'field can not be less than previous value');
  } else if (compareQuantities(size, claim.status?.capacity?.['storage'] ?? '0') <= 0) {
    errors.forbidden(SIZE_PATH, 'field can not be less than status.capacity');
  }
}

function validateUpdate(
  object: ApiObject,
  oldObject: ApiObject,
  { vocabulary, gates }: StrategyContext,
): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const [claim, old] = [typed<PersistentVolumeClaim>(object), typed<PersistentVolumeClaim>(oldObject)];
  const [spec, before] = [claim.spec ?? {}, old.spec ?? {}];
  const annotation = storageClassAnnotation(vocabulary);
  const [now, then] = [claim.metadata?.annotations?.[annotation], old.metadata?.annotations?.[annotation]];
  immutableField(errors, now ?? '', then ?? '', `metadata.annotations[${annotation}]`);
  const fixed = fixedPart(spec, before, claim.status?.phase);
  const volumeName = before.volumeName ?? '';
  if (!sameContent(fixed, { ...before, volumeName })) {
    const changed = changedPaths(fixed, { ...before, volumeName }, 'spec').join(', ');
    errors.forbidden(
      'spec',
      `spec is immutable after creation except resources.requests for bound claims\nchanged: ${changed}`,
    );
  }
  validateSize(errors, claim, before, gates);
  immutableField(errors, spec.volumeMode, before.volumeMode, 'volumeMode');
  return errors.all;
}

const statusPart: PartStrategy = {
  prepareForUpdate: (draft, old) => keepAllBut(draft, old, 'status'),
  validateUpdate(object): readonly FieldError[] {
    const errors = createBoundedFieldErrors();
    const { capacity = {}, allocatedResources = {} } = typed<PersistentVolumeClaim>(object).status ?? {};
    for (const [member, amounts] of Object.entries({ capacity, allocatedResources })) {
      for (const [name, amount] of Object.entries(amounts)) {
        if (parseQuantity(amount).nanos >= 0n) continue;
        errors.invalid(`status.${member}[${name}]`, amount, 'must be greater than or equal to 0');
      }
    }
    return errors.all;
  },
};

function row(object: ApiObject, nowMs: number, vocabulary: Vocabulary): readonly Cell[] {
  const { spec, status } = typed<PersistentVolumeClaim>(object);
  const volumeName = spec?.volumeName ?? '';
  const bound = volumeName !== '';
  return [
    object.metadata.name ?? '',
    phaseOf(object, status?.phase),
    volumeName,
    bound ? (status?.capacity?.['storage'] ?? '0') : '',
    bound ? accessModeText(status?.accessModes) : '',
    storageClassOf(object, spec, vocabulary),
    ageOf(object, nowMs),
    spec?.volumeMode ?? UNSET,
  ];
}

export const persistentVolumeClaimKind: KindEntry = {
  strategy: {
    countsGeneration: false,
    normalize: alignSources,
    prepareForCreate: (draft) => {
      draft['status'] = { phase: 'Pending' };
    },
    validate,
    validateUpdate,
    selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
    row: (object, { nowMs, vocabulary }) => row(object, nowMs, vocabulary),
  },
  parts: { status: statusPart },
};
