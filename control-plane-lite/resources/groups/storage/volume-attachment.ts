/** VolumeAttachments. Source: volume attachments, document 3 §2.7; storage/v1. */

import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '#api/gen/storage-v1.ts';
import { dns1123SubdomainFaults } from '#api/meta/names.ts';
import { validateDriverName } from '#api/schema/validation/csi-driver.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import { validatePersistentVolume } from '#api/schema/validation/persistent-volume.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, statusPart, validateImmutable } from '../kind.ts';

const MAX_METADATA_BYTES = 256 * 1024;
const LONGEST_MESSAGE = 1024;
const EXACTLY_ONE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

/** Validates an inline CSI volume of a pod as a volume spec without the properties of a persistent volume. */
function validateInline(faults: Faults, { capacity, ...spec }: PersistentVolumeSpec, path: string): void {
  const unfit = 'may not be specified in the context of inline volumes';
  if (capacity !== undefined) faults.forbidden(`${path}.capacity`, unfit);
  if (spec.claimRef !== undefined) faults.forbidden(`${path}.claimRef`, unfit);
  if (spec.nodeAffinity !== undefined) faults.forbidden(`${path}.nodeAffinity`, unfit);
  if (spec.csi === undefined) {
    faults.required(`${path}.csi`, 'has to be specified in the context of inline volumes');
  }
  const volume = { metadata: { name: 'inline' }, spec: { ...spec, capacity: { storage: '1' } } };
  for (const { kind, field, detail, badValue } of validatePersistentVolume(volume)) {
    faults.add(kind, `${path}${field.replace(/^spec/, '')}`, detail, badValue);
  }
}

function validateSource(faults: Faults, source: VolumeAttachmentSource): void {
  const { persistentVolumeName, inlineVolumeSpec } = source;
  const path = 'spec.source';
  if (persistentVolumeName !== undefined && inlineVolumeSpec !== undefined) {
    return faults.forbidden(`${path}.inlineVolumeSpec`, EXACTLY_ONE);
  }
  if (inlineVolumeSpec !== undefined)
    return validateInline(faults, inlineVolumeSpec, `${path}.inlineVolumeSpec`);
  if (persistentVolumeName === undefined) return faults.required(path, EXACTLY_ONE);
  if (persistentVolumeName === '') {
    faults.required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName');
  }
  return undefined;
}

function validateError(faults: Faults, error: VolumeError | undefined, path: string): void {
  if ((error?.message ?? '').length <= LONGEST_MESSAGE) return;
  faults.add('FieldValueTooLong', `${path}.message`, `must have at most ${LONGEST_MESSAGE} characters`);
}

function validateStatus(faults: Faults, { status }: VolumeAttachment): void {
  const entries = Object.entries(status?.attachmentMetadata ?? {});
  const path = 'status.attachmentMetadata';
  if (entries.some(([key]) => key === '')) faults.required(path, 'keys must not be empty');
  const bytes = entries.reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
    0,
  );
  if (bytes > MAX_METADATA_BYTES) {
    faults.add('FieldValueTooLong', path, `must have at most ${MAX_METADATA_BYTES} bytes`);
  }
  validateError(faults, status?.attachError, 'status.attachError');
  validateError(faults, status?.detachError, 'status.detachError');
}

export const volumeAttachment: KindEntry = {
  strategy: kindStrategy<VolumeAttachment>({
    unconditionalUpdate: false,
    countsGeneration: false,
    prepareForCreate(draft) {
      draft.status = { attached: false };
    },
    validate(faults, object) {
      const { attacher, nodeName, source } = object.spec;
      validateDriverName(faults, attacher, 'spec.attacher');
      if (nodeName === '') faults.required('spec.nodeName');
      else faults.invalidAll('spec.nodeName', nodeName, dns1123SubdomainFaults(nodeName));
      validateSource(faults, source);
    },
    validateUpdate: (faults, { spec }, { spec: old }) => validateImmutable(faults, spec, old, 'spec'),
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec.attacher,
      object.spec.source.persistentVolumeName ?? '',
      object.spec.nodeName,
      object.status?.attached ?? false,
      ageOf(object, nowMs),
    ],
  }),
  parts: { status: statusPart<VolumeAttachment>({ validate: validateStatus }) },
};
