/** Validation of PersistentVolumes and claims. Source: claims and volumes, document 3 §2.4 and §2.5. */

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSource,
  PersistentVolumeSpec,
} from '../../gen/core-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { dns1123SubdomainErrors } from '../../meta/names.ts';
import { compareQuantities } from '../../meta/quantity.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';
import { validateLabelSelector } from './label-selector.ts';
import { validateMetadata } from './metadata.ts';
import { validateNodeSelector } from './node-selector.ts';
import {
  csiDriverErrors,
  requireMembers,
  validateAzureDisk,
  validateFc,
  validateFlocker,
  validateHostPath,
  validateIscsi,
  validateNfs,
  validateQuobyte,
  validateStorageOs,
} from './volume-sources.ts';

type Rule<T> = (errors: FieldErrors, source: T, path: string) => void;
type SourceRules = {
  readonly [K in keyof Required<PersistentVolumeSource>]: Rule<NonNullable<PersistentVolumeSource[K]>>;
};

const requires =
  (...members: readonly string[]): Rule<object> =>
  (errors, source, path) =>
    requireMembers(errors, source, members, path);

const RULES: SourceRules = {
  gcePersistentDisk: requires('pdName'),
  awsElasticBlockStore: requires('volumeID'),
  hostPath: validateHostPath,
  glusterfs: requires('endpoints', 'path'),
  nfs: validateNfs,
  rbd: requires('monitors', 'image'),
  iscsi: validateIscsi,
  cinder: requires('volumeID'),
  cephfs: requires('monitors'),
  fc: validateFc,
  flocker: validateFlocker,
  flexVolume: requires('driver'),
  azureFile: requires('secretName', 'shareName'),
  vsphereVolume: requires('volumePath'),
  quobyte: validateQuobyte,
  azureDisk: validateAzureDisk,
  photonPersistentDisk: requires('pdID'),
  portworxVolume: requires('volumeID'),
  scaleIO: requires('gateway', 'system', 'volumeName'),
  local: validateHostPath,
  storageos: validateStorageOs,
  csi: (errors, source, path) => {
    requireMembers(errors, source, ['driver', 'volumeHandle'], path);
    errors.invalidAll(`${path}.driver`, source.driver, csiDriverErrors(source.driver));
  },
};

type SourceName = keyof PersistentVolumeSource;
const isSourceName = (name: string): name is SourceName => Object.hasOwn(RULES, name);

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- binds the rule to its source
function validateSource<K extends SourceName>(
  errors: FieldErrors,
  spec: PersistentVolumeSpec,
  name: K,
  path: string,
): void {
  const source = spec[name];
  if (source !== undefined) RULES[name](errors, source, `${path}.${name}`);
}

function validateAccessModes(errors: FieldErrors, modes: readonly string[], path: string): void {
  if (modes.length === 0) errors.required(path, 'at least one access mode is needed');
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    errors.forbidden(path, 'ReadWriteOncePod must not be used with other access modes');
  }
}

function validateStorageAmount(errors: FieldErrors, amount: string | undefined, path: string): void {
  if (amount === undefined) errors.required(path);
  else if (compareQuantities(amount, 0) <= 0) errors.invalid(path, amount, 'must be greater than 0');
}

function validateClassName(errors: FieldErrors, name: string | undefined, path: string): void {
  if (name !== undefined && name !== '') errors.invalidAll(path, name, dns1123SubdomainErrors(name));
}

function validateVolumeSpec(errors: FieldErrors, spec: PersistentVolumeSpec): void {
  const { capacity = {} } = spec;
  validateAccessModes(errors, spec.accessModes ?? [], 'spec.accessModes');
  for (const name of Object.keys(capacity)) {
    if (name !== 'storage') errors.unsupported('spec.capacity', name, ['storage']);
  }
  validateStorageAmount(errors, capacity['storage'], 'spec.capacity.storage');
  validateClassName(errors, spec.storageClassName, 'spec.storageClassName');
  const sources = Object.keys(RULES)
    .filter(isSourceName)
    .filter((name) => spec[name] !== undefined);
  if (sources.length === 0) errors.required('spec', 'a source is needed, such as hostPath or nfs');
  for (const extra of sources.slice(1)) {
    errors.forbidden(`spec.${extra}`, `a volume must have one source, and it has ${sources[0] ?? ''}`);
  }
  for (const source of sources) validateSource(errors, spec, source, 'spec');
  if (spec.hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    errors.forbidden('spec.persistentVolumeReclaimPolicy', "the host's root directory must not be recycled");
  }
  const required = spec.nodeAffinity?.required;
  if (spec.local !== undefined && required === undefined) {
    errors.required('spec.nodeAffinity', 'a local volume needs it');
  }
  if (required !== undefined) validateNodeSelector(errors, required, 'spec.nodeAffinity.required');
}

/** Returns every validation error of a PersistentVolume. */
export function validatePersistentVolume(volume: PersistentVolume): readonly FieldError[] {
  return [
    ...validateMetadata(volume.metadata, { namespaced: false }),
    ...validatePersistentVolumeContent(volume),
  ];
}

/** Returns every validation error of a PersistentVolume except those of its metadata. */
export function validatePersistentVolumeContent(volume: PersistentVolume): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  if (volume.spec === undefined) errors.required('spec');
  else validateVolumeSpec(errors, volume.spec);
  return errors.all;
}

/** Returns the storage source in a PersistentVolume's spec. */
export function persistentVolumeSource(spec: PersistentVolumeSpec): PersistentVolumeSource {
  return Object.fromEntries(Object.entries(spec).filter(([member]) => isSourceName(member)));
}

/** Validates the spec of a claim, which may be in the template of an ephemeral volume. */
export function validateClaimSpec(errors: FieldErrors, spec: PersistentVolumeClaimSpec, path: string): void {
  validateAccessModes(errors, spec.accessModes ?? [], `${path}.accessModes`);
  if (spec.selector !== undefined) validateLabelSelector(errors, spec.selector, `${path}.selector`);
  const { requests = {}, limits = {} } = spec.resources ?? {};
  validateStorageAmount(errors, requests['storage'], `${path}.resources.requests.storage`);
  const [request, limit] = [requests['storage'], limits['storage']];
  if (request !== undefined && limit !== undefined && compareQuantities(request, limit) > 0) {
    errors.invalid(`${path}.resources.requests.storage`, request, `must be at most the limit, ${limit}`);
  }
  validateClassName(errors, spec.storageClassName, `${path}.storageClassName`);
  for (const member of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[member];
    if (source === undefined) continue;
    requireMembers(errors, source, ['kind', 'name'], `${path}.${member}`);
    if ((source.apiGroup ?? '') === '' && source.kind !== '' && source.kind !== 'PersistentVolumeClaim') {
      errors.invalid(
        `${path}.${member}`,
        source.kind,
        "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
      );
    }
  }
}

/** Returns every validation error of a PersistentVolumeClaim. */
export function validatePersistentVolumeClaim(claim: PersistentVolumeClaim): readonly FieldError[] {
  const content = validatePersistentVolumeClaimContent(claim);
  return [...validateMetadata(claim.metadata, { namespaced: true }), ...content];
}

/** Returns every validation error of a PersistentVolumeClaim except those of its metadata. */
export function validatePersistentVolumeClaimContent(claim: PersistentVolumeClaim): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  if (claim.spec === undefined) errors.required('spec');
  else validateClaimSpec(errors, claim.spec, 'spec');
  return errors.all;
}
