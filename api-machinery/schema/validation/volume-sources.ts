/** Validation of volume sources of pods, one rule per source, and of those shared with PersistentVolumes.
 *  Source: volume sources, document 3 §2.3. */

import type {
  AzureDiskVolumeSource,
  EmptyDirVolumeSource,
  FCVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  ISCSIPersistentVolumeSource,
  NFSVolumeSource,
  QuobyteVolumeSource,
  VolumeSource,
} from '../../gen/core-v1.ts';
import { dns1123LabelErrors, parentElementErrors, volumeFilePathErrors } from '../../meta/names.ts';
import { compareQuantities } from '../../meta/quantity.ts';
import type { FieldErrors } from './field-errors.ts';
import {
  validateConfigMapSource,
  validateDownwardSource,
  validateProjectedSource,
  validateSecretSource,
} from './projections.ts';

type Rule<T> = (errors: FieldErrors, source: T, path: string) => void;
type SourceRules = { readonly [K in keyof Required<VolumeSource>]: Rule<NonNullable<VolumeSource[K]>> };

/** Members that must not be empty. The decoder has reported absent ones, which are not reported again. */
export function requireMembers(
  errors: FieldErrors,
  source: object,
  members: readonly string[],
  path: string,
): void {
  const values = new Map<string, unknown>(Object.entries(source));
  for (const member of members) {
    const value = values.get(member);
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
      errors.required(`${path}.${member}`);
    }
  }
}

const requires =
  (...members: readonly string[]): Rule<object> =>
  (errors, source, path) =>
    requireMembers(errors, source, members, path);

function inRange(
  errors: FieldErrors,
  path: string,
  value: number | undefined,
  min: number,
  max: number,
): void {
  if (value !== undefined && (value < min || value > max)) {
    errors.invalid(path, value, `must be between ${min} and ${max}, inclusive`);
  }
}

/** Validates the partition number of a disk. */
const partitioned =
  (idMember: string): Rule<{ readonly partition?: number }> =>
  (errors, source, path) => {
    requireMembers(errors, source, [idMember], path);
    inRange(errors, `${path}.partition`, source.partition, 0, 255);
  };

function validateSecretName(
  errors: FieldErrors,
  secretRef: { readonly name?: string } | undefined,
  path: string,
): void {
  if (secretRef !== undefined && (secretRef.name ?? '') === '') errors.required(`${path}.secretRef.name`);
}

const withSecret =
  (...members: readonly string[]): Rule<{ readonly secretRef?: { readonly name?: string } }> =>
  (errors, source, path) => {
    requireMembers(errors, source, members, path);
    validateSecretName(errors, source.secretRef, path);
  };

const MEDIUM = /^(?:|Memory|HugePages|HugePages-\S+)$/;

function validateEmptyDir(errors: FieldErrors, source: EmptyDirVolumeSource, path: string): void {
  const { medium = '', sizeLimit } = source;
  if (!MEDIUM.test(medium)) {
    errors.unsupported(`${path}.medium`, medium, ['', 'Memory', 'HugePages', 'HugePages-<size>']);
  }
  if (sizeLimit !== undefined && compareQuantities(sizeLimit, 0) < 0) {
    errors.invalid(`${path}.sizeLimit`, sizeLimit, 'must be greater than or equal to 0');
  }
}

/** Shared with PersistentVolumes. */
export function validateHostPath(errors: FieldErrors, source: HostPathVolumeSource, path: string): void {
  if (source.path === '') errors.required(`${path}.path`);
  else errors.invalidAll(`${path}.path`, source.path, parentElementErrors(source.path));
}

export function validateNfs(errors: FieldErrors, source: NFSVolumeSource, path: string): void {
  requireMembers(errors, source, ['server', 'path'], path);
  if (source.path !== '' && !source.path.startsWith('/')) {
    errors.invalid(`${path}.path`, source.path, 'must be an absolute path');
  }
}

const IQN = /^iqn\.\d{4}-\d{2}(?:\.[a-z0-9-]+)+(?::\S+)?$/i;
const EUI = /^eui\.[0-9a-f]{16}$/i;
const NAA = /^naa\.(?:[0-9a-f]{16}|[0-9a-f]{32})$/i;
const isIscsiName = (name: string): boolean => IQN.test(name) || EUI.test(name) || NAA.test(name);
const ISCSI_FORM = 'must be an iSCSI name such as iqn.2001-04.com.example:disk1, eui.… or naa.…';

type IscsiSource = Omit<ISCSIPersistentVolumeSource, 'secretRef'> & { readonly secretRef?: object };

export function validateIscsi(errors: FieldErrors, source: IscsiSource, path: string): void {
  requireMembers(errors, source, ['targetPortal', 'iqn'], path);
  const { iqn, initiatorName } = source;
  if (iqn !== '' && !isIscsiName(iqn)) errors.invalid(`${path}.iqn`, iqn, ISCSI_FORM);
  inRange(errors, `${path}.lun`, source.lun, 0, 255);
  const chap = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (chap && source.secretRef === undefined)
    errors.required(`${path}.secretRef`, 'CHAP authentication needs it');
  if (initiatorName !== undefined && !isIscsiName(initiatorName)) {
    errors.invalid(`${path}.initiatorName`, initiatorName, ISCSI_FORM);
  }
}

export function validateFc(errors: FieldErrors, source: FCVolumeSource, path: string): void {
  const wwns = source.targetWWNs ?? [];
  const wwids = source.wwids ?? [];
  if (wwns.length > 0 && wwids.length > 0) {
    errors.invalid(`${path}.targetWWNs`, wwns, 'targetWWNs and wwids must not both be set');
  } else if (wwns.length === 0 && wwids.length === 0) {
    errors.required(`${path}.targetWWNs`, 'either targetWWNs with lun, or wwids, is needed');
  }
  if (wwns.length > 0 && source.lun === undefined) errors.required(`${path}.lun`, 'targetWWNs needs it');
  inRange(errors, `${path}.lun`, source.lun, 0, 255);
}

export function validateFlocker(errors: FieldErrors, source: FlockerVolumeSource, path: string): void {
  const { datasetName = '', datasetUUID = '' } = source;
  if (datasetName === '' && datasetUUID === '') {
    errors.required(path, 'one of datasetName and datasetUUID is needed');
  } else if (datasetName !== '' && datasetUUID !== '') {
    errors.invalid(path, datasetName, 'datasetName and datasetUUID must not both be set');
  }
  if (datasetName.includes('/')) errors.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
}

export function validateQuobyte(errors: FieldErrors, source: QuobyteVolumeSource, path: string): void {
  requireMembers(errors, source, ['registry', 'volume'], path);
  const hosts = source.registry === '' ? [] : source.registry.split(',');
  if (hosts.some((host) => !/^.+:\d{1,5}$/.test(host))) {
    errors.invalid(`${path}.registry`, source.registry, 'must be host:port pairs separated by commas');
  }
  if ((source.tenant ?? '').length > 64) {
    errors.add('FieldValueTooLong', `${path}.tenant`, 'must be at most 64 characters');
  }
}

export function validateAzureDisk(errors: FieldErrors, source: AzureDiskVolumeSource, path: string): void {
  requireMembers(errors, source, ['diskName', 'diskURI'], path);
  const { diskURI, kind } = source;
  if (diskURI === '') return;
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/')) {
    errors.invalid(`${path}.diskURI`, diskURI, 'URI of a managed disk must start with /subscriptions/');
  }
  if (kind !== undefined && kind !== 'Managed' && !diskURI.startsWith('https://')) {
    errors.invalid(`${path}.diskURI`, diskURI, 'URI of a blob disk must start with https://');
  }
}

function validateGitRepo(
  errors: FieldErrors,
  source: NonNullable<VolumeSource['gitRepo']>,
  path: string,
): void {
  requireMembers(errors, source, ['repository'], path);
  const { directory = '' } = source;
  if (directory !== '') errors.invalidAll(`${path}.directory`, directory, volumeFilePathErrors(directory));
}

function validateCsi(errors: FieldErrors, source: NonNullable<VolumeSource['csi']>, path: string): void {
  requireMembers(errors, source, ['driver'], path);
  errors.invalidAll(`${path}.driver`, source.driver, csiDriverErrors(source.driver));
  const { nodePublishSecretRef } = source;
  if (nodePublishSecretRef !== undefined && (nodePublishSecretRef.name ?? '') === '') {
    errors.required(`${path}.nodePublishSecretRef.name`);
  }
}

/** A driver's name is part of file names: a domain name of at most 63 characters, in either case. */
export function csiDriverErrors(driver: string): readonly string[] {
  if (driver === '') return [];
  if (driver.length > 63) return ['must be at most 63 characters'];
  const form = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/i;
  return form.test(driver) && !driver.includes('..')
    ? []
    : ["must be a domain name such as 'disk.csi.example.com'"];
}

/** Shared with PersistentVolumes. */
export function validateStorageOs(
  errors: FieldErrors,
  source: {
    readonly volumeName?: string;
    readonly volumeNamespace?: string;
    readonly secretRef?: { readonly name?: string };
  },
  path: string,
): void {
  const { volumeName = '', volumeNamespace = '' } = source;
  if (volumeName === '') errors.required(`${path}.volumeName`);
  else errors.invalidAll(`${path}.volumeName`, volumeName, dns1123LabelErrors(volumeName));
  if (volumeNamespace !== '') {
    errors.invalidAll(`${path}.volumeNamespace`, volumeNamespace, dns1123LabelErrors(volumeNamespace));
  }
  validateSecretName(errors, source.secretRef, path);
}

/** The rule of every pod volume source. `ephemeral` is validated with the volume, because it needs the pod's
 *  name. */
export const VOLUME_SOURCE_RULES: SourceRules = {
  hostPath: validateHostPath,
  emptyDir: validateEmptyDir,
  gcePersistentDisk: partitioned('pdName'),
  awsElasticBlockStore: partitioned('volumeID'),
  gitRepo: validateGitRepo,
  secret: validateSecretSource,
  nfs: validateNfs,
  iscsi: (errors, source, path) => {
    validateIscsi(errors, source, path);
    validateSecretName(errors, source.secretRef, path);
  },
  glusterfs: requires('endpoints', 'path'),
  persistentVolumeClaim: requires('claimName'),
  rbd: withSecret('monitors', 'image'),
  flexVolume: withSecret('driver'),
  cinder: withSecret('volumeID'),
  cephfs: withSecret('monitors'),
  flocker: validateFlocker,
  downwardAPI: validateDownwardSource,
  fc: validateFc,
  azureFile: requires('secretName', 'shareName'),
  configMap: validateConfigMapSource,
  vsphereVolume: requires('volumePath'),
  quobyte: validateQuobyte,
  azureDisk: validateAzureDisk,
  photonPersistentDisk: requires('pdID'),
  projected: validateProjectedSource,
  portworxVolume: requires('volumeID'),
  scaleIO: (errors, source, path) => {
    requireMembers(errors, source, ['gateway', 'system', 'volumeName'], path);
    if ((source.secretRef.name ?? '') === '') errors.required(`${path}.secretRef.name`);
  },
  storageos: validateStorageOs,
  csi: validateCsi,
  ephemeral: (errors, source, path) => {
    if (source.volumeClaimTemplate === undefined) errors.required(`${path}.volumeClaimTemplate`);
  },
};
