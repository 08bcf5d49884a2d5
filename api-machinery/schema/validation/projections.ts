/** Validation of volumes whose files come from configuration objects and the pod itself: configMap, secret,
 *  downwardAPI, projected. Keys, paths, modes, and conflicting paths. */

import type {
  ConfigMapVolumeSource,
  DownwardAPIVolumeFile,
  DownwardAPIVolumeSource,
  KeyToPath,
  ProjectedVolumeSource,
  SecretVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../gen/core-v1.ts';
import { volumeFilePathFaults } from '../../meta/names.ts';
import type { Faults } from './faults.ts';
import { VOLUME_FIELD_PATHS, validateFieldRef, validateResourceFieldRef } from './field-refs.ts';

const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;

/** Permission bits of a file. */
function validateMode(faults: Faults, mode: number | undefined, path: string): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    faults.invalid(path, mode, 'must be between 0 and 0777 (octal), 0 and 511 (decimal), inclusive');
  }
}

function validateFilePath(faults: Faults, filePath: string, path: string): void {
  if (filePath === '') faults.required(path);
  else faults.invalidAll(path, filePath, volumeFilePathFaults(filePath));
}

function validateItems(faults: Faults, items: readonly KeyToPath[] | undefined, path: string): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (item.key === '') faults.required(`${at}.key`);
    validateFilePath(faults, item.path, `${at}.path`);
    validateMode(faults, item.mode, `${at}.mode`);
  }
}

export function validateSecretSource(faults: Faults, source: SecretVolumeSource, path: string): void {
  if ((source.secretName ?? '') === '') faults.required(`${path}.secretName`);
  validateMode(faults, source.defaultMode, `${path}.defaultMode`);
  validateItems(faults, source.items, `${path}.items`);
}

export function validateConfigMapSource(faults: Faults, source: ConfigMapVolumeSource, path: string): void {
  if ((source.name ?? '') === '') faults.required(`${path}.name`);
  validateMode(faults, source.defaultMode, `${path}.defaultMode`);
  validateItems(faults, source.items, `${path}.items`);
}

export function validateDownwardSource(faults: Faults, source: DownwardAPIVolumeSource, path: string): void {
  validateMode(faults, source.defaultMode, `${path}.defaultMode`);
  validateDownwardFiles(faults, source.items, `${path}.items`);
}

function validateDownwardFiles(
  faults: Faults,
  files: readonly DownwardAPIVolumeFile[] | undefined,
  path: string,
): void {
  for (const [index, file] of (files ?? []).entries()) {
    const at = `${path}[${index}]`;
    validateFilePath(faults, file.path, `${at}.path`);
    validateMode(faults, file.mode, `${at}.mode`);
    if (file.fieldRef !== undefined && file.resourceFieldRef !== undefined) {
      faults.invalid(at, undefined, 'fieldRef and resourceFieldRef must not both be set');
    } else if (file.fieldRef !== undefined) {
      validateFieldRef(faults, file.fieldRef, VOLUME_FIELD_PATHS, `${at}.fieldRef`);
    } else if (file.resourceFieldRef === undefined) {
      faults.required(at, 'one of fieldRef and resourceFieldRef is needed');
    } else {
      if ((file.resourceFieldRef.containerName ?? '') === '')
        faults.required(`${at}.resourceFieldRef.containerName`);
      validateResourceFieldRef(faults, file.resourceFieldRef, `${at}.resourceFieldRef`);
    }
  }
}

function validateToken(faults: Faults, token: ServiceAccountTokenProjection, path: string): void {
  validateFilePath(faults, token.path, `${path}.path`);
  const { expirationSeconds } = token;
  if (expirationSeconds === undefined) return;
  if (expirationSeconds < MIN_TOKEN_SECONDS) {
    faults.invalid(`${path}.expirationSeconds`, expirationSeconds, 'must be at least 10 minutes (600)');
  } else if (expirationSeconds > MAX_TOKEN_SECONDS) {
    faults.invalid(`${path}.expirationSeconds`, expirationSeconds, `must be at most ${MAX_TOKEN_SECONDS}`);
  }
}

const PROJECTIONS = ['secret', 'configMap', 'downwardAPI', 'serviceAccountToken'] as const;

/** Returns the file paths that a projection writes, as far as its items name them. */
function projectedPaths(source: VolumeProjection): readonly (readonly [path: string, member: string])[] {
  const listed = (['secret', 'configMap', 'downwardAPI'] as const).flatMap((kind) =>
    (source[kind]?.items ?? []).map((item, index) => [item.path, `${kind}.items[${index}].path`] as const),
  );
  const token = source.serviceAccountToken;
  return token === undefined ? listed : [...listed, [token.path, 'serviceAccountToken.path'] as const];
}

function validateProjection(faults: Faults, source: VolumeProjection, path: string): void {
  const used = PROJECTIONS.filter((kind) => source[kind] !== undefined);
  if (used.length === 0) faults.required(path, `one of ${PROJECTIONS.join(', ')} is needed`);
  for (const extra of used.slice(1)) {
    faults.forbidden(`${path}.${extra}`, 'a projection must have exactly one source');
  }
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) {
    if ((secret.name ?? '') === '') faults.required(`${path}.secret.name`);
    validateItems(faults, secret.items, `${path}.secret.items`);
  }
  if (configMap !== undefined) {
    if ((configMap.name ?? '') === '') faults.required(`${path}.configMap.name`);
    validateItems(faults, configMap.items, `${path}.configMap.items`);
  }
  if (downwardAPI !== undefined)
    validateDownwardFiles(faults, downwardAPI.items, `${path}.downwardAPI.items`);
  if (serviceAccountToken !== undefined)
    validateToken(faults, serviceAccountToken, `${path}.serviceAccountToken`);
}

export function validateProjectedSource(faults: Faults, source: ProjectedVolumeSource, path: string): void {
  validateMode(faults, source.defaultMode, `${path}.defaultMode`);
  const seen = new Set<string>();
  for (const [index, projection] of (source.sources ?? []).entries()) {
    const at = `${path}.sources[${index}]`;
    validateProjection(faults, projection, at);
    for (const [filePath, member] of projectedPaths(projection)) {
      if (filePath === '') continue;
      if (seen.has(filePath)) {
        faults.add(
          'FieldValueDuplicate',
          `${at}.${member}`,
          'another source of the volume has this path',
          filePath,
        );
      }
      seen.add(filePath);
    }
  }
}
