/** Maps configured cipher suite names to those of OpenSSL. Pure. */

const BULK: Readonly<Record<string, string>> = {
  AES_128_GCM_SHA256: 'AES128-GCM-SHA256',
  AES_256_GCM_SHA384: 'AES256-GCM-SHA384',
  AES_128_CBC_SHA: 'AES128-SHA',
  AES_256_CBC_SHA: 'AES256-SHA',
  AES_128_CBC_SHA256: 'AES128-SHA256',
  '3DES_EDE_CBC_SHA': 'DES-CBC3-SHA',
  RC4_128_SHA: 'RC4-SHA',
  CHACHA20_POLY1305: 'CHACHA20-POLY1305',
  CHACHA20_POLY1305_SHA256: 'CHACHA20-POLY1305',
};

/** Returns `undefined` for an unknown suite. Names of TLS 1.3 suites are identical. */
export function opensslSuite(name: string): string | undefined {
  const [exchange = '', bulk] = name.replace(/^TLS_/, '').split('_WITH_');
  if (bulk === undefined) return /^TLS_(?:AES|CHACHA20)_/.test(name) ? name : undefined;
  const cipher = BULK[bulk];
  if (cipher === undefined) return undefined;
  return exchange === 'RSA' ? cipher : `${exchange.replaceAll('_', '-')}-${cipher}`;
}

/** Bulk ciphers that Go offers only on request. */
const INSECURE = /_(?:RC4_128_SHA|3DES_EDE_CBC_SHA|AES_128_CBC_SHA256)$/;

/** Reports whether upstream lists the suite among the insecure ones. */
export const isInsecureSuite = (name: string): boolean => INSECURE.test(name);

/** Suites of TLS 1.3 by name; these cannot be selected, as in Go: all are always offered. */
const TLS13 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/** Names that upstream accepts, as Go spells them. */
const GO_SUITES: ReadonlySet<string> = new Set([
  ...TLS13,
  ...['ECDSA', 'RSA'].flatMap((signature) =>
    [
      'AES_128_CBC_SHA',
      'AES_128_CBC_SHA256',
      'AES_128_GCM_SHA256',
      'AES_256_CBC_SHA',
      'AES_256_GCM_SHA384',
      'CHACHA20_POLY1305',
      'CHACHA20_POLY1305_SHA256',
      'RC4_128_SHA',
    ].map((bulk) => `TLS_ECDHE_${signature}_WITH_${bulk}`),
  ),
  'TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA',
  ...[
    '3DES_EDE_CBC_SHA',
    'AES_128_CBC_SHA',
    'AES_128_CBC_SHA256',
    'AES_128_GCM_SHA256',
    'AES_256_CBC_SHA',
    'AES_256_GCM_SHA384',
    'RC4_128_SHA',
  ].map((bulk) => `TLS_RSA_WITH_${bulk}`),
]);

export const isGoSuite = (name: string): boolean => GO_SUITES.has(name);

/** Returns OpenSSL's list for the names of suites: those of TLS 1.3 first, which are always offered. */
export function opensslList(names: readonly string[]): string {
  const older = names.flatMap((name) => (TLS13.includes(name) ? [] : (opensslSuite(name) ?? [])));
  return [...TLS13, ...older].join(':');
}

const VERSIONS = {
  '': 'TLSv1.2',
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
} as const;

export type TlsVersionName = keyof typeof VERSIONS;

export const isTlsVersionName = (name: string): name is TlsVersionName => Object.hasOwn(VERSIONS, name);

export const nodeTlsVersion = (name: TlsVersionName): (typeof VERSIONS)[TlsVersionName] => VERSIONS[name];
