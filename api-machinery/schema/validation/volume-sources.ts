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
import { dns1123LabelFaults, parentElementFaults, volumeFilePathFaults } from '../../meta/names.ts';
import { compareQuantities } from '../../meta/quantity.ts';
import type { Faults } from './faults.ts';
import {
  validateConfigMapSource,
  validateDownwardSource,
  validateProjectedSource,
  validateSecretSource,
} from './projections.ts';

type Rule<T> = (faults: Faults, source: T, path: string) => void;
type SourceRules = { readonly [K in keyof Required<VolumeSource>]: Rule<NonNullable<VolumeSource[K]>> };

/** Members that must not be empty. The decoder has reported absent ones, which are not reported again. */
export function requireMembers(
  faults: Faults,
  source: object,
  members: readonly string[],
  path: string,
): void {
  const values = new Map<string, unknown>(Object.entries(source));
  for (const member of members) {
    const value = values.get(member);
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
      faults.required(`${path}.${member}`);
    }
  }
}

const requires =
  (...members: readonly string[]): Rule<object> =>
  (faults, source, path) =>
    requireMembers(faults, source, members, path);

function inRange(faults: Faults, path: string, value: number | undefined, min: number, max: number): void {
  if (value !== undefined && (value < min || value > max)) {
    faults.invalid(path, value, `must be between ${min} and ${max}, inclusive`);
  }
}

/** Validates the partition number of a disk. */
const partitioned =
  (idMember: string): Rule<{ readonly partition?: number }> =>
  (faults, source, path) => {
    requireMembers(faults, source, [idMember], path);
    inRange(faults, `${path}.partition`, source.partition, 0, 255);
  };

function validateSecretName(
  faults: Faults,
  secretRef: { readonly name?: string } | undefined,
  path: string,
): void {
  if (secretRef !== undefined && (secretRef.name ?? '') === '') faults.required(`${path}.secretRef.name`);
}

const withSecret =
  (...members: readonly string[]): Rule<{ readonly secretRef?: { readonly name?: string } }> =>
  (faults, source, path) => {
    requireMembers(faults, source, members, path);
    validateSecretName(faults, source.secretRef, path);
  };

const MEDIUM = /^(?:|Memory|HugePages|HugePages-\S+)$/;

function validateEmptyDir(faults: Faults, source: EmptyDirVolumeSource, path: string): void {
  const { medium = '', sizeLimit } = source;
  if (!MEDIUM.test(medium)) {
    faults.unsupported(`${path}.medium`, medium, ['', 'Memory', 'HugePages', 'HugePages-<size>']);
  }
  if (sizeLimit !== undefined && compareQuantities(sizeLimit, 0) < 0) {
    faults.invalid(`${path}.sizeLimit`, sizeLimit, 'must be greater than or equal to 0');
  }
}

/** Shared with PersistentVolumes. */
export function validateHostPath(faults: Faults, source: HostPathVolumeSource, path: string): void {
  if (source.path === '') faults.required(`${path}.path`);
  else faults.invalidAll(`${path}.path`, source.path, parentElementFaults(source.path));
}

export function validateNfs(faults: Faults, source: NFSVolumeSource, path: string): void {
  requireMembers(faults, source, ['server', 'path'], path);
  if (source.path !== '' && !source.path.startsWith('/')) {
    faults.invalid(`${path}.path`, source.path, 'must be an absolute path');
  }
}

const IQN = /^iqn\.\d{4}-\d{2}(?:\.[a-z0-9-]+)+(?::\S+)?$/i;
const EUI = /^eui\.[0-9a-f]{16}$/i;
const NAA = /^naa\.(?:[0-9a-f]{16}|[0-9a-f]{32})$/i;
const isIscsiName = (name: string): boolean => IQN.test(name) || EUI.test(name) || NAA.test(name);
const ISCSI_FORM = 'must be an iSCSI name such as iqn.2001-04.com.example:disk1, eui.… or naa.…';

type IscsiSource = Omit<ISCSIPersistentVolumeSource, 'secretRef'> & { readonly secretRef?: object };

export function validateIscsi(faults: Faults, source: IscsiSource, path: string): void {
  requireMembers(faults, source, ['targetPortal', 'iqn'], path);
  const { iqn, initiatorName } = source;
  if (iqn !== '' && !isIscsiName(iqn)) faults.invalid(`${path}.iqn`, iqn, ISCSI_FORM);
  inRange(faults, `${path}.lun`, source.lun, 0, 255);
  const chap = source.chapAuthDiscovery === true || source.chapAuthSession === true;
  if (chap && source.secretRef === undefined)
    faults.required(`${path}.secretRef`, 'CHAP authentication needs it');
  if (initiatorName !== undefined && !isIscsiName(initiatorName)) {
    faults.invalid(`${path}.initiatorName`, initiatorName, ISCSI_FORM);
  }
}

export function validateFc(faults: Faults, source: FCVolumeSource, path: string): void {
  const wwns = source.targetWWNs ?? [];
  const wwids = source.wwids ?? [];
  if (wwns.length > 0 && wwids.length > 0) {
    faults.invalid(`${path}.targetWWNs`, wwns, 'targetWWNs and wwids must not both be set');
  } else if (wwns.length === 0 && wwids.length === 0) {
    faults.required(`${path}.targetWWNs`, 'either targetWWNs with lun, or wwids, is needed');
  }
  if (wwns.length > 0 && source.lun === undefined) faults.required(`${path}.lun`, 'targetWWNs needs it');
  inRange(faults, `${path}.lun`, source.lun, 0, 255);
}

export function validateFlocker(faults: Faults, source: FlockerVolumeSource, path: string): void {
  const { datasetName = '', datasetUUID = '' } = source;
  if (datasetName === '' && datasetUUID === '') {
    faults.required(path, 'one of datasetName and datasetUUID is needed');
  } else if (datasetName !== '' && datasetUUID !== '') {
    faults.invalid(path, datasetName, 'datasetName and datasetUUID must not both be set');
  }
  if (datasetName.includes('/')) faults.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
}

export function validateQuobyte(faults: Faults, source: QuobyteVolumeSource, path: string): void {
  requireMembers(faults, source, ['registry', 'volume'], path);
  const hosts = source.registry === '' ? [] : source.registry.split(',');
  if (hosts.some((host) => !/^.+:\d{1,5}$/.test(host))) {
    faults.invalid(`${path}.registry`, source.registry, 'must be host:port pairs separated by commas');
  }
  if ((source.tenant ?? '').length > 64) {
    faults.add('FieldValueTooLong', `${path}.tenant`, 'must be at most 64 characters');
  }
}

export function validateAzureDisk(faults: Faults, source: AzureDiskVolumeSource, path: string): void {
  requireMembers(faults, source, ['diskName', 'diskURI'], path);
  const { diskURI, kind } = source;
  if (diskURI === '') return;
  if (kind === 'Managed' && !diskURI.startsWith('/subscriptions/')) {
    faults.invalid(`${path}.diskURI`, diskURI, 'URI of a managed disk must start with /subscriptions/');
  }
  if (kind !== undefined && kind !== 'Managed' && !diskURI.startsWith('https://')) {
    faults.invalid(`${path}.diskURI`, diskURI, 'URI of a blob disk must start with https://');
  }
}

function validateGitRepo(faults: Faults, source: NonNullable<VolumeSource['gitRepo']>, path: string): void {
  requireMembers(faults, source, ['repository'], path);
  const { directory = '' } = source;
  if (directory !== '') faults.invalidAll(`${path}.directory`, directory, volumeFilePathFaults(directory));
}

function validateCsi(faults: Faults, source: NonNullable<VolumeSource['csi']>, path: string): void {
  requireMembers(faults, source, ['driver'], path);
  faults.invalidAll(`${path}.driver`, source.driver, csiDriverFaults(source.driver));
  const { nodePublishSecretRef } = source;
  if (nodePublishSecretRef !== undefined && (nodePublishSecretRef.name ?? '') === '') {
    faults.required(`${path}.nodePublishSecretRef.name`);
  }
}

/** A driver's name is part of file names: a domain name of at most 63 characters, in either case. */
export function csiDriverFaults(driver: string): readonly string[] {
  if (driver === '') return [];
  if (driver.length > 63) return ['must be at most 63 characters'];
  const form = /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/i;
  return form.test(driver) && !driver.includes('..')
    ? []
    : ["must be a domain name such as 'disk.csi.example.com'"];
}

/** Shared with PersistentVolumes. */
export function validateStorageOs(
  faults: Faults,
  source: {
    readonly volumeName?: string;
    readonly volumeNamespace?: string;
    readonly secretRef?: { readonly name?: string };
  },
  path: string,
): void {
  const { volumeName = '', volumeNamespace = '' } = source;
  if (volumeName === '') faults.required(`${path}.volumeName`);
  else faults.invalidAll(`${path}.volumeName`, volumeName, dns1123LabelFaults(volumeName));
  if (volumeNamespace !== '') {
    faults.invalidAll(`${path}.volumeNamespace`, volumeNamespace, dns1123LabelFaults(volumeNamespace));
  }
  validateSecretName(faults, source.secretRef, path);
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
  iscsi: (faults, source, path) => {
    validateIscsi(faults, source, path);
    validateSecretName(faults, source.secretRef, path);
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
  scaleIO: (faults, source, path) => {
    requireMembers(faults, source, ['gateway', 'system', 'volumeName'], path);
    if ((source.secretRef.name ?? '') === '') faults.required(`${path}.secretRef.name`);
  },
  storageos: validateStorageOs,
  csi: validateCsi,
  ephemeral: (faults, source, path) => {
    if (source.volumeClaimTemplate === undefined) faults.required(`${path}.volumeClaimTemplate`);
  },
};
