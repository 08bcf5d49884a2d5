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
import { volumeFilePathErrors } from '../../meta/names.ts';
import type { FieldErrors } from './field-errors.ts';
import { VOLUME_FIELD_PATHS, validateFieldRef, validateResourceFieldRef } from './field-refs.ts';

const MIN_TOKEN_SECONDS = 600;
const MAX_TOKEN_SECONDS = 2 ** 32;

/** Permission bits of a file. */
function validateMode(errors: FieldErrors, mode: number | undefined, path: string): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    errors.invalid(path, mode, 'must be between 0 and 0777 (octal), 0 and 511 (decimal), inclusive');
  }
}

function validateFilePath(errors: FieldErrors, filePath: string, path: string): void {
  if (filePath === '') errors.required(path);
  else errors.invalidAll(path, filePath, volumeFilePathErrors(filePath));
}

function validateItems(errors: FieldErrors, items: readonly KeyToPath[] | undefined, path: string): void {
  for (const [index, item] of (items ?? []).entries()) {
    const at = `${path}[${index}]`;
    if (item.key === '') errors.required(`${at}.key`);
    validateFilePath(errors, item.path, `${at}.path`);
    validateMode(errors, item.mode, `${at}.mode`);
  }
}

export function validateSecretSource(errors: FieldErrors, source: SecretVolumeSource, path: string): void {
  if ((source.secretName ?? '') === '') errors.required(`${path}.secretName`);
  validateMode(errors, source.defaultMode, `${path}.defaultMode`);
  validateItems(errors, source.items, `${path}.items`);
}

export function validateConfigMapSource(
  errors: FieldErrors,
  source: ConfigMapVolumeSource,
  path: string,
): void {
  if ((source.name ?? '') === '') errors.required(`${path}.name`);
  validateMode(errors, source.defaultMode, `${path}.defaultMode`);
  validateItems(errors, source.items, `${path}.items`);
}

export function validateDownwardSource(
  errors: FieldErrors,
  source: DownwardAPIVolumeSource,
  path: string,
): void {
  validateMode(errors, source.defaultMode, `${path}.defaultMode`);
  validateDownwardFiles(errors, source.items, `${path}.items`);
}

function validateDownwardFiles(
  errors: FieldErrors,
  files: readonly DownwardAPIVolumeFile[] | undefined,
  path: string,
): void {
  for (const [index, file] of (files ?? []).entries()) {
    const at = `${path}[${index}]`;
    validateFilePath(errors, file.path, `${at}.path`);
    validateMode(errors, file.mode, `${at}.mode`);
    if (file.fieldRef !== undefined && file.resourceFieldRef !== undefined) {
      errors.invalid(at, undefined, 'fieldRef and resourceFieldRef must not both be set');
    } else if (file.fieldRef !== undefined) {
      validateFieldRef(errors, file.fieldRef, VOLUME_FIELD_PATHS, `${at}.fieldRef`);
    } else if (file.resourceFieldRef === undefined) {
      errors.required(at, 'one of fieldRef and resourceFieldRef is needed');
    } else {
      if ((file.resourceFieldRef.containerName ?? '') === '')
        errors.required(`${at}.resourceFieldRef.containerName`);
      validateResourceFieldRef(errors, file.resourceFieldRef, `${at}.resourceFieldRef`);
    }
  }
}

function validateToken(errors: FieldErrors, token: ServiceAccountTokenProjection, path: string): void {
  validateFilePath(errors, token.path, `${path}.path`);
  const { expirationSeconds } = token;
  if (expirationSeconds === undefined) return;
  if (expirationSeconds < MIN_TOKEN_SECONDS) {
    errors.invalid(`${path}.expirationSeconds`, expirationSeconds, 'must be at least 10 minutes (600)');
  } else if (expirationSeconds > MAX_TOKEN_SECONDS) {
    errors.invalid(`${path}.expirationSeconds`, expirationSeconds, `must be at most ${MAX_TOKEN_SECONDS}`);
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

function validateProjection(errors: FieldErrors, source: VolumeProjection, path: string): void {
  const used = PROJECTIONS.filter((kind) => source[kind] !== undefined);
  if (used.length === 0) errors.required(path, `one of ${PROJECTIONS.join(', ')} is needed`);
  for (const extra of used.slice(1)) {
    errors.forbidden(`${path}.${extra}`, 'a projection must have exactly one source');
  }
  const { secret, configMap, downwardAPI, serviceAccountToken } = source;
  if (secret !== undefined) {
    if ((secret.name ?? '') === '') errors.required(`${path}.secret.name`);
    validateItems(errors, secret.items, `${path}.secret.items`);
  }
  if (configMap !== undefined) {
    if ((configMap.name ?? '') === '') errors.required(`${path}.configMap.name`);
    validateItems(errors, configMap.items, `${path}.configMap.items`);
  }
  if (downwardAPI !== undefined)
    validateDownwardFiles(errors, downwardAPI.items, `${path}.downwardAPI.items`);
  if (serviceAccountToken !== undefined)
    validateToken(errors, serviceAccountToken, `${path}.serviceAccountToken`);
}

export function validateProjectedSource(
  errors: FieldErrors,
  source: ProjectedVolumeSource,
  path: string,
): void {
  validateMode(errors, source.defaultMode, `${path}.defaultMode`);
  const seen = new Set<string>();
  for (const [index, projection] of (source.sources ?? []).entries()) {
    const at = `${path}.sources[${index}]`;
    validateProjection(errors, projection, at);
    for (const [filePath, member] of projectedPaths(projection)) {
      if (filePath === '') continue;
      if (seen.has(filePath)) {
        errors.add(
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
