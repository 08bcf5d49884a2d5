/** Validation of PersistentVolumes and claims. Source: claims and volumes, document 3 §2.4 and §2.5. */

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  PersistentVolumeClaimSpec,
  PersistentVolumeSource,
  PersistentVolumeSpec,
} from '../../gen/core-v1.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { dns1123SubdomainFaults } from '../../meta/names.ts';
import { compareQuantities } from '../../meta/quantity.ts';
import { createBoundedFaults, type Faults } from './faults.ts';
import { validateLabelSelector } from './label-selector.ts';
import { validateMetadata } from './metadata.ts';
import { validateNodeSelector } from './node-selector.ts';
import {
  csiDriverFaults,
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

type Rule<T> = (faults: Faults, source: T, path: string) => void;
type SourceRules = {
  readonly [K in keyof Required<PersistentVolumeSource>]: Rule<NonNullable<PersistentVolumeSource[K]>>;
};

const requires =
  (...members: readonly string[]): Rule<object> =>
  (faults, source, path) =>
    requireMembers(faults, source, members, path);

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
  csi: (faults, source, path) => {
    requireMembers(faults, source, ['driver', 'volumeHandle'], path);
    faults.invalidAll(`${path}.driver`, source.driver, csiDriverFaults(source.driver));
  },
};

type SourceName = keyof PersistentVolumeSource;
const isSourceName = (name: string): name is SourceName => Object.hasOwn(RULES, name);

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- binds the rule to its source
function validateSource<K extends SourceName>(
  faults: Faults,
  spec: PersistentVolumeSpec,
  name: K,
  path: string,
): void {
  const source = spec[name];
  if (source !== undefined) RULES[name](faults, source, `${path}.${name}`);
}

function validateAccessModes(faults: Faults, modes: readonly string[], path: string): void {
  if (modes.length === 0) faults.required(path, 'at least one access mode is needed');
  if (modes.includes('ReadWriteOncePod') && modes.length > 1) {
    faults.forbidden(path, 'ReadWriteOncePod must not be used with other access modes');
  }
}

function validateStorageAmount(faults: Faults, amount: string | undefined, path: string): void {
  if (amount === undefined) faults.required(path);
  else if (compareQuantities(amount, 0) <= 0) faults.invalid(path, amount, 'must be greater than 0');
}

function validateClassName(faults: Faults, name: string | undefined, path: string): void {
  if (name !== undefined && name !== '') faults.invalidAll(path, name, dns1123SubdomainFaults(name));
}

function validateVolumeSpec(faults: Faults, spec: PersistentVolumeSpec): void {
  const { capacity = {} } = spec;
  validateAccessModes(faults, spec.accessModes ?? [], 'spec.accessModes');
  for (const name of Object.keys(capacity)) {
    if (name !== 'storage') faults.unsupported('spec.capacity', name, ['storage']);
  }
  validateStorageAmount(faults, capacity['storage'], 'spec.capacity.storage');
  validateClassName(faults, spec.storageClassName, 'spec.storageClassName');
  const sources = Object.keys(RULES)
    .filter(isSourceName)
    .filter((name) => spec[name] !== undefined);
  if (sources.length === 0) faults.required('spec', 'a source is needed, such as hostPath or nfs');
  for (const extra of sources.slice(1)) {
    faults.forbidden(`spec.${extra}`, `a volume must have one source, and it has ${sources[0] ?? ''}`);
  }
  for (const source of sources) validateSource(faults, spec, source, 'spec');
  if (spec.hostPath?.path === '/' && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    faults.forbidden('spec.persistentVolumeReclaimPolicy', "the host's root directory must not be recycled");
  }
  const required = spec.nodeAffinity?.required;
  if (spec.local !== undefined && required === undefined) {
    faults.required('spec.nodeAffinity', 'a local volume needs it');
  }
  if (required !== undefined) validateNodeSelector(faults, required, 'spec.nodeAffinity.required');
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
  const faults = createBoundedFaults();
  if (volume.spec === undefined) faults.required('spec');
  else validateVolumeSpec(faults, volume.spec);
  return faults.errors;
}

/** Returns the storage source in a PersistentVolume's spec. */
export function persistentVolumeSource(spec: PersistentVolumeSpec): PersistentVolumeSource {
  return Object.fromEntries(Object.entries(spec).filter(([member]) => isSourceName(member)));
}

/** Validates the spec of a claim, which may be in the template of an ephemeral volume. */
export function validateClaimSpec(faults: Faults, spec: PersistentVolumeClaimSpec, path: string): void {
  validateAccessModes(faults, spec.accessModes ?? [], `${path}.accessModes`);
  if (spec.selector !== undefined) validateLabelSelector(faults, spec.selector, `${path}.selector`);
  const { requests = {}, limits = {} } = spec.resources ?? {};
  validateStorageAmount(faults, requests['storage'], `${path}.resources.requests.storage`);
  const [request, limit] = [requests['storage'], limits['storage']];
  if (request !== undefined && limit !== undefined && compareQuantities(request, limit) > 0) {
    faults.invalid(`${path}.resources.requests.storage`, request, `must be at most the limit, ${limit}`);
  }
  validateClassName(faults, spec.storageClassName, `${path}.storageClassName`);
  for (const member of ['dataSource', 'dataSourceRef'] as const) {
    const source = spec[member];
    if (source === undefined) continue;
    requireMembers(faults, source, ['kind', 'name'], `${path}.${member}`);
    if ((source.apiGroup ?? '') === '' && source.kind !== '' && source.kind !== 'PersistentVolumeClaim') {
      faults.invalid(
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
  const faults = createBoundedFaults();
  if (claim.spec === undefined) faults.required('spec');
  else validateClaimSpec(faults, claim.spec, 'spec');
  return faults.errors;
}
