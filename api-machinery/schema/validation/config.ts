/** Validation of ConfigMaps and Secrets: keys, sizes, and the data that a secret's type requires. */

import { Buffer } from 'node:buffer';
import type { ConfigMap, Secret } from '../../gen/core-v1.ts';
import { trimEnd } from '../../kit/text/trim-end.ts';
import type { FieldError } from '../../meta/field-error.ts';
import { configMapKeyErrors } from '../../meta/names.ts';
import type { Vocabulary } from '../../vocabulary.ts';
import { createBoundedFieldErrors, type FieldErrors } from './field-errors.ts';
import { validateMetadata } from './metadata.ts';

/** Largest sum of all values of a ConfigMap or Secret. */
export const MAX_CONFIG_BYTES: number = 1024 * 1024;

/** Returns the number of bytes that a base64 text encodes. */
function base64Bytes(text: string): number {
  const padding = text.length - trimEnd(text, '=').length;
  return (text.length * 3) / 4 - padding;
}

/** Looks at each key. @returns the bytes of all values. One pass, for there may be hundreds of thousands. */
function validateMembers(
  errors: FieldErrors,
  values: Readonly<Record<string, string>>,
  path: string,
  size: (text: string) => number,
): number {
  let bytes = 0;
  for (const key in values) {
    const found = configMapKeyErrors(key);
    if (found.length > 0) errors.invalidAll(`${path}[${key}]`, key, found);
    bytes += size(values[key] ?? '');
  }
  return bytes;
}

const textBytes = (text: string): number => Buffer.byteLength(text);

function validateSize(errors: FieldErrors, path: string, bytes: number): void {
  if (bytes > MAX_CONFIG_BYTES) {
    errors.add(
      'FieldValueTooLong',
      path,
      `values must have at most ${MAX_CONFIG_BYTES} bytes in total, not ${bytes}`,
    );
  }
}

/** Returns every validation error of a ConfigMap. */
export function validateConfigMap(configMap: ConfigMap): readonly FieldError[] {
  return [
    ...validateMetadata(configMap.metadata, { namespaced: true }),
    ...validateConfigMapContent(configMap),
  ];
}

/** Returns every validation error of a ConfigMap beside its metadata. */
export function validateConfigMapContent(configMap: ConfigMap): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { data = {}, binaryData = {} } = configMap;
  const bytes =
    validateMembers(errors, data, 'data', textBytes) +
    validateMembers(errors, binaryData, 'binaryData', base64Bytes);
  for (const key in binaryData) {
    if (Object.hasOwn(data, key)) errors.invalid(`data[${key}]`, key, 'key is also in binaryData');
  }
  validateSize(errors, 'data', bytes);
  return errors.all;
}

/** Returns every validation error of a Secret whose `stringData` is already in `data`. No value appears in an
 *  error. */
export function validateSecret(secret: Secret, vocabulary: Vocabulary): readonly FieldError[] {
  const content = validateSecretContent(secret, vocabulary);
  return [...validateMetadata(secret.metadata, { namespaced: true }), ...content];
}

/** Returns every validation error of a Secret beside its metadata; its `stringData` is already in `data`. */
export function validateSecretContent(secret: Secret, vocabulary: Vocabulary): readonly FieldError[] {
  const errors = createBoundedFieldErrors();
  const { data = {}, type = '' } = secret;
  validateSize(errors, 'data', validateMembers(errors, data, 'data', base64Bytes));
  validateSecretType(errors, data, type, vocabulary);
  if (type === `${vocabulary.domain}/service-account-token`) {
    const owner = `${vocabulary.domain}/service-account.name`;
    if ((secret.metadata?.annotations?.[owner] ?? '') === '')
      errors.required(`metadata.annotations[${owner}]`);
  }
  return errors.all;
}

function validateSecretType(
  errors: FieldErrors,
  data: Readonly<Record<string, string>>,
  type: string,
  vocabulary: Vocabulary,
): void {
  const need = (...keys: readonly string[]): void => {
    for (const key of keys)
      if (!Object.hasOwn(data, key)) errors.required(`data[${key}]`, `type ${type} needs it`);
  };
  switch (type) {
    case vocabulary.secretTypeDockerConfig:
      need('.dockercfg');
      validateJsonKey(errors, data, '.dockercfg');
      break;
    case vocabulary.secretTypeDockerConfigJson:
      need('.dockerconfigjson');
      validateJsonKey(errors, data, '.dockerconfigjson');
      break;
    case `${vocabulary.domain}/basic-auth`:
      if (!Object.hasOwn(data, 'username') && !Object.hasOwn(data, 'password')) need('username', 'password');
      break;
    case `${vocabulary.domain}/ssh-auth`:
      need('ssh-privatekey');
      break;
    case `${vocabulary.domain}/tls`:
      need('tls.crt', 'tls.key');
      break;
    default:
  }
}

function validateJsonKey(errors: FieldErrors, data: Readonly<Record<string, string>>, key: string): void {
  const encoded = Object.hasOwn(data, key) ? data[key] : undefined;
  if (encoded === undefined) return;
  try {
    JSON.parse(Buffer.from(encoded, 'base64').toString('utf8'));
  } catch {
    // The parser's message would reveal the secret.
    errors.add('FieldValueInvalid', `data[${key}]`, 'must be valid JSON');
  }
}
