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

const VERSIONS = {
  '': 'TLSv1.2',
  VersionTLS10: 'TLSv1',
  VersionTLS11: 'TLSv1.1',
  VersionTLS12: 'TLSv1.2',
  VersionTLS13: 'TLSv1.3',
} as const;

export type TlsVersionName = keyof typeof VERSIONS;

export const nodeTlsVersion = (name: TlsVersionName): (typeof VERSIONS)[TlsVersionName] => VERSIONS[name];
