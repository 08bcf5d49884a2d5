/** The oidc auth provider of a user: its validation and settings. Pure. Source: OpenID Connect, document 2
 *  §5.3. */
import { dirname, resolve } from 'node:path';
import type { FieldError, FieldErrorKind } from '../meta/field-error.ts';
import { decodeBase64 } from './fields.ts';
import type { AuthProviderEntry } from './model.ts';

export interface OidcSpec {
  readonly issuerUrl: string;
  readonly clientId: string;
  /** Empty for a public client. */
  readonly clientSecret: string;
  /** Empty if there is none: then an expired token cannot be renewed. */
  readonly refreshToken: string;
  /** Empty if the first one must still be requested. */
  readonly idToken: string;
  /** PEM; undefined selects the system's authorities. */
  readonly authority: string | undefined;
}

const AUTHORITY_FILE = 'idp-certificate-authority';
const AUTHORITY_DATA = 'idp-certificate-authority-data';
/** `extra-scopes` has had no effect upstream for a long time, but is still written. */
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

/** Returns every validation error of the section at `path`. Values that may be secret are not shown. */
export function checkAuthProvider({ name, config }: AuthProviderEntry, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  const report = (kind: FieldErrorKind, field: string, detail: string, badValue?: string): void => {
    errors.push({ kind, field: `${path}.${field}`, detail, ...(badValue === undefined ? {} : { badValue }) });
  };
  if (name !== 'oidc') {
    const detail = 'must be oidc; for other providers use an exec plugin (user.exec)';
    report(name === '' ? 'FieldValueRequired' : 'FieldValueNotSupported', 'name', detail, name);
    return errors;
  }
  for (const key of Object.keys(config)) {
    if (!KEYS.includes(key)) report('FieldUnknown', `config.${key}`, `known keys: ${KEYS.join(', ')}`);
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
  return errors;
}

/** Returns the path of the provider's certificate authority, if it is in a file. */
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
