/** The oidc auth provider of a user: what it must say. Pure. Source: document 2, section 5.3. */
import { dirname, resolve } from 'node:path';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { decodeBase64 } from './fields.ts';
import type { AuthProviderEntry } from './model.ts';

export interface OidcSpec {
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Empty for a public client. */
  readonly clientSecret: string;
  /** Empty where there is none: then an expired token stays expired. */
  readonly refreshToken: string;
  /** Empty where the first one is still to be fetched. */
  readonly idToken: string;
  /** PEM; undefined means the authorities of the system. */
  readonly authority: string | undefined;
}

const AUTHORITY_FILE = 'idp-certificate-authority';
const AUTHORITY_DATA = 'idp-certificate-authority-data';
/** `extra-scopes` has had no effect upstream for long, and is written all the same. */
const KEYS = [
  'idp-issuer-url',
  'client-id',
  'client-secret',
  'refresh-token',
  'id-token',
  'extra-scopes',
  AUTHORITY_FILE,
  AUTHORITY_DATA,
];

/** Every fault of the section at `path`. Values are not shown where they may be secrets. */
export function checkAuthProvider({ name, config }: AuthProviderEntry, path: string): readonly FieldError[] {
  const faults: FieldError[] = [];
  const report = (kind: FieldErrorKind, field: string, detail: string, badValue?: string): void => {
    faults.push({ kind, field: `${path}.${field}`, detail, ...(badValue === undefined ? {} : { badValue }) });
  };
  if (name !== 'oidc') {
    const detail = 'must be oidc; other providers are reached with an exec plugin (user.exec)';
    report(name === '' ? 'FieldValueRequired' : 'FieldValueNotSupported', 'name', detail, name);
    return faults;
  }
  for (const key of Object.keys(config)) {
    if (!KEYS.includes(key)) report('FieldUnknown', `config.${key}`, `known are ${KEYS.join(', ')}`);
  }
  const issuer = config['idp-issuer-url'] ?? '';
  if (issuer === '') report('FieldValueRequired', 'config.idp-issuer-url', 'the https URL of the issuer');
  else if (URL.parse(issuer)?.protocol !== 'https:') {
    report('FieldValueInvalid', 'config.idp-issuer-url', 'must be an https URL', issuer);
  }
  if ((config['client-id'] ?? '') === '') {
    report('FieldValueRequired', 'config.client-id', 'the audience that tokens are issued to');
  }
  if ((config['id-token'] ?? '') === '' && (config['refresh-token'] ?? '') === '') {
    report('FieldValueRequired', 'config.id-token', 'give an id-token, a refresh-token or both');
  }
  if (decodeBase64(config[AUTHORITY_DATA] ?? '') === undefined) {
    report('FieldValueInvalid', `config.${AUTHORITY_DATA}`, 'must be base64 of a PEM text');
  }
  return faults;
}

/** Where the authority stands that the provider names, if it stands in a file. */
export function oidcAuthorityFile({ config }: AuthProviderEntry, file: string): string | undefined {
  const named = config[AUTHORITY_FILE] ?? '';
  return (config[AUTHORITY_DATA] ?? '') !== '' || named === '' ? undefined : resolve(dirname(file), named);
}

/** @param fileAuthority content of the file of `oidcAuthorityFile` */
export function resolveOidc({ config }: AuthProviderEntry, fileAuthority: string | undefined): OidcSpec {
  const data = decodeBase64(config[AUTHORITY_DATA] ?? '') ?? '';
  return {
    issuerUrl: config['idp-issuer-url'] ?? '',
    clientId: config['client-id'] ?? '',
    clientSecret: config['client-secret'] ?? '',
    refreshToken: config['refresh-token'] ?? '',
    idToken: config['id-token'] ?? '',
    authority: data === '' ? fileAuthority : data,
  };
}
