/** VolumeAttachments. Source: volume attachments, document 3 §2.7; storage/v1. */

import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '#api/gen/storage-v1.ts';
import { dns1123SubdomainErrors } from '#api/meta/names.ts';
import { validateDriverName } from '#api/schema/validation/csi-driver.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
import { validatePersistentVolume } from '#api/schema/validation/persistent-volume.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { kindStrategy, statusPart, validateImmutable } from '../kind.ts';

const MAX_METADATA_BYTES = 256 * 1024;
const LONGEST_MESSAGE = 1024;
const EXACTLY_ONE = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

/** Validates an inline CSI volume of a pod as a volume spec without the properties of a persistent volume. */
function validateInline(
  errors: FieldErrors,
  { capacity, ...spec }: PersistentVolumeSpec,
  path: string,
): void {
  const unfit = 'may not be specified in the context of inline volumes';
  if (capacity !== undefined) errors.forbidden(`${path}.capacity`, unfit);
  if (spec.claimRef !== undefined) errors.forbidden(`${path}.claimRef`, unfit);
  if (spec.nodeAffinity !== undefined) errors.forbidden(`${path}.nodeAffinity`, unfit);
  if (spec.csi === undefined) {
    errors.required(`${path}.csi`, 'has to be specified in the context of inline volumes');
  }
  const volume = { metadata: { name: 'inline' }, spec: { ...spec, capacity: { storage: '1' } } };
  for (const { kind, field, detail, badValue } of validatePersistentVolume(volume)) {
    errors.add(kind, `${path}${field.replace(/^spec/, '')}`, detail, badValue);
  }
}

function validateSource(errors: FieldErrors, source: VolumeAttachmentSource): void {
  const { persistentVolumeName, inlineVolumeSpec } = source;
  const path = 'spec.source';
  if (persistentVolumeName !== undefined && inlineVolumeSpec !== undefined) {
    return errors.forbidden(`${path}.inlineVolumeSpec`, EXACTLY_ONE);
  }
  if (inlineVolumeSpec !== undefined)
    return validateInline(errors, inlineVolumeSpec, `${path}.inlineVolumeSpec`);
  if (persistentVolumeName === undefined) return errors.required(path, EXACTLY_ONE);
  if (persistentVolumeName === '') {
    errors.required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName');
  }
  return undefined;
}

function validateError(errors: FieldErrors, error: VolumeError | undefined, path: string): void {
  if ((error?.message ?? '').length <= LONGEST_MESSAGE) return;
  errors.add('FieldValueTooLong', `${path}.message`, `must have at most ${LONGEST_MESSAGE} characters`);
}

function validateStatus(errors: FieldErrors, { status }: VolumeAttachment): void {
  const entries = Object.entries(status?.attachmentMetadata ?? {});
  const path = 'status.attachmentMetadata';
  if (entries.some(([key]) => key === '')) errors.required(path, 'keys must not be empty');
  const bytes = entries.reduce(
    (sum, [key, text]) => sum + Buffer.byteLength(key) + Buffer.byteLength(text),
    0,
  );
  if (bytes > MAX_METADATA_BYTES) {
    errors.add('FieldValueTooLong', path, `must have at most ${MAX_METADATA_BYTES} bytes`);
  }
  validateError(errors, status?.attachError, 'status.attachError');
  validateError(errors, status?.detachError, 'status.detachError');
}

export const volumeAttachment: KindEntry = {
  strategy: kindStrategy<VolumeAttachment>({
    unconditionalUpdate: false,
    countsGeneration: false,
    prepareForCreate(draft) {
      draft.status = { attached: false };
    },
    validate(errors, object) {
      const { attacher, nodeName, source } = object.spec;
      validateDriverName(errors, attacher, 'spec.attacher');
      if (nodeName === '') errors.required('spec.nodeName');
      else errors.invalidAll('spec.nodeName', nodeName, dns1123SubdomainErrors(nodeName));
      validateSource(errors, source);
    },
    validateUpdate: (errors, { spec }, { spec: old }) => validateImmutable(errors, spec, old, 'spec'),
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
