/** Parses registry credentials from Secrets and docker configuration files. Pure; errors quote no content. */

import { parseJsonText } from '#api/codec/json-text.ts';
import type { Secret } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { CredentialTable, RegistryCredential } from './credentials.ts';

/** Malformed credentials; the message has the location but never the content. */
export class CredentialFormatError extends Error {
  override readonly name = 'CredentialFormatError';
}

/** The two formats of credentials. */
export type DockerConfigFormat =
  /** `{"auths": {key: entry}}` */
  | 'json'
  /** `{key: entry}` */
  | 'legacy';

type JsonObject = Readonly<Record<string, unknown>>;

function parseObject(text: string, where: string): JsonObject {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch {
    // The message of the parser quotes the text, which contains secrets.
    throw new CredentialFormatError(`${where}: not valid JSON`);
  }
  if (!isObject(value)) throw new CredentialFormatError(`${where}: must be a JSON object`);
  return value;
}

function readString(entry: JsonObject, field: string, where: string): string {
  const value = entry[field];
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new CredentialFormatError(`${where}.${field}: must be a string`);
  return value;
}

/** `auth` is base64 of `username:password`. */
function decodeAuth(auth: string, where: string): { readonly username: string; readonly password: string } {
  const text = Buffer.from(auth, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(auth) || colon < 0) {
    throw new CredentialFormatError(`${where}.auth: must be base64 of username:password`);
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

function parseEntry(value: unknown, where: string): RegistryCredential {
  if (!isObject(value)) throw new CredentialFormatError(`${where}: must be an object`);
  const auth = readString(value, 'auth', where);
  const login =
    auth === ''
      ? { username: readString(value, 'username', where), password: readString(value, 'password', where) }
      : decodeAuth(auth, where);
  return {
    ...login,
    identityToken: readString(value, 'identitytoken', where),
    registryToken: readString(value, 'registrytoken', where),
  };
}

/** Parses one configuration. `where` names it in errors.
 *  @throws {CredentialFormatError} with the location of the first error */
export function parseDockerConfig(text: string, format: DockerConfigFormat, where: string): CredentialTable {
  const root = parseObject(text, where);
  const auths = format === 'json' ? (root['auths'] ?? {}) : root;
  if (!isObject(auths)) throw new CredentialFormatError(`${where}: auths must be an object`);
  return (
    Object.entries(auths)
      // Credential helpers leave empty entries, which are not logins.
      .filter(([, value]) => !isObject(value) || Object.keys(value).length > 0)
      .map(([key, value]) => [key, parseEntry(value, `${where}[${key}]`)] as const)
  );
}

const SECRET_KEYS: readonly {
  readonly types: readonly string[];
  readonly key: string;
  readonly format: DockerConfigFormat;
}[] = [
  {
    types: Object.values(VOCABULARIES).map((vocabulary) => vocabulary.secretTypeDockerConfigJson),
    key: '.dockerconfigjson',
    format: 'json',
  },
  {
    types: Object.values(VOCABULARIES).map((vocabulary) => vocabulary.secretTypeDockerConfig),
    key: '.dockercfg',
    format: 'legacy',
  },
];

/** Returns the credentials in a Secret; undefined for another type or without the key.
 *  @throws {CredentialFormatError} naming the Secret */
export function parseSecretCredentials(secret: Secret): CredentialTable | undefined {
  const place = SECRET_KEYS.find(({ types }) => types.includes(secret.type ?? ''));
  if (place === undefined) return undefined;
  const plain = secret.stringData?.[place.key];
  const encoded = secret.data?.[place.key];
  const text = plain ?? (encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8'));
  if (text === '') return undefined;
  const where = `secret ${secret.metadata?.namespace ?? ''}/${secret.metadata?.name ?? ''}`;
  return parseDockerConfig(text, place.format, where);
}
