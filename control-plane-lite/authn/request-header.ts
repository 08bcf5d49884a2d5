/** Authenticating proxy: users in request headers, trusted because of the proxy's client certificate. Source:
 *  document 2 §5.5; upstream's request header authenticator. */
import type { X509Certificate } from 'node:crypto';
import type { CertificateTrust } from './certificate-trust.ts';
import { userOf } from './client-certificate.ts';
import { type AuthenticationRequest, type Authenticator, NOT_APPLICABLE, rejected } from './contract.ts';

export interface RequestHeaderOptions {
  /** In order; the first one with a value has the user's name. */
  readonly usernameHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraPrefixes: readonly string[];
  /** Common names of the proxies' certificates; empty: any. */
  readonly allowedNames: readonly string[];
}

/** Names and UTF-8 are bytes on the wire; Node's parser decodes each byte as one character. */
const asUtf8 = (value: string): string => Buffer.from(value, 'latin1').toString('utf8');

/** Returns a key without escapes; a malformed one as it is. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Calls `visit` with each header, its name in lower case. Reads the raw headers: joined values are ambiguous
 *  if one contains a comma, and a user could invent groups. */
function eachHeader(raw: readonly string[], visit: (name: string, value: string) => void): void {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    visit((raw[index] ?? '').toLowerCase(), asUtf8(raw[index + 1] ?? ''));
  }
}

function valuesOf(raw: readonly string[], header: string): readonly string[] {
  const values: string[] = [];
  eachHeader(raw, (name, value) => {
    if (name === header && value !== '') values.push(value);
  });
  return values;
}

function extraOf(
  raw: readonly string[],
  prefixes: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes) {
    eachHeader(raw, (name, value) => {
      if (!name.startsWith(prefix)) return;
      const key = unescaped(name.slice(prefix.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    });
  }
  return Object.fromEntries(extra);
}

export function createRequestHeaderAuthenticator(
  isTrusted: CertificateTrust,
  options: RequestHeaderOptions,
): Authenticator {
  const lower = (names: readonly string[]): readonly string[] =>
    names.map((name) => name.trim().toLowerCase());
  const usernames = lower(options.usernameHeaders);
  const groups = lower(options.groupHeaders);
  const prefixes = lower(options.extraPrefixes);
  const consumed = new Set([...usernames, ...groups]);
  const consumes = (name: string): boolean =>
    consumed.has(name) || prefixes.some((prefix) => name.startsWith(prefix));

  function isAllowed(certificate: X509Certificate): boolean {
    const name = userOf(certificate)?.name ?? '';
    return options.allowedNames.length === 0 || options.allowedNames.includes(name);
  }

  return {
    name: 'request-header',
    authenticate({ headers, rawHeaders = [], certificate, intermediates }: AuthenticationRequest) {
      if (certificate === undefined) return NOT_APPLICABLE;
      // Most requests name no user: they are not worth the verification of the certificate.
      const header = usernames.find((each) => (headers[each] ?? '') !== '');
      const name = header === undefined ? '' : (valuesOf(rawHeaders, header)[0] ?? '');
      if (name === '') return NOT_APPLICABLE;
      if (!isTrusted(certificate, intermediates))
        return rejected('the certificate of the authenticating proxy is not trusted');
      if (!isAllowed(certificate))
        return rejected('the common name of the authenticating proxy is not in the allowed list');
      const user = {
        name,
        groups: groups.flatMap((each) => valuesOf(rawHeaders, each)),
        extra: extraOf(rawHeaders, prefixes),
      };
      return { kind: 'user', user, consumes };
    },
  };
}
