/** Certificates for some server names: the values of `--tls-sni-cert-key`, and the choice by the name that a client
 *  sends. Pure. Source: upstream's named certificates, release 1.24. */

export interface SniPair {
  readonly certFile: string;
  readonly keyFile: string;
  /** Names and `*.` patterns; empty: the names in the certificate. */
  readonly names: readonly string[];
}

export type SniValue = { readonly pair: SniPair } | { readonly problem: string };

/** Parses `CERT,KEY` or `CERT,KEY:NAME,…`. */
export function parseSniValue(value: string): SniValue {
  const colon = value.indexOf(':');
  const files = (colon < 0 ? value : value.slice(0, colon)).split(',').map((file) => file.trim());
  const names =
    colon < 0
      ? []
      : value
          .slice(colon + 1)
          .split(',')
          .map((name) => name.trim());
  const [certFile = '', keyFile = '', ...rest] = files;
  if (certFile === '' || keyFile === '' || rest.length > 0)
    return { problem: 'expected a certificate file and a key file, separated by a comma' };
  if (names.includes('')) return { problem: 'a name after the colon is empty' };
  return { pair: { certFile, keyFile, names } };
}

export interface NamedCertificate<T> {
  readonly value: T;
  /** Of the flag; empty: those of the certificate count. */
  readonly names: readonly string[];
  readonly certificateNames: readonly string[];
}

/** Returns the choice by server name. A name beats a pattern, a configured name beats one from a certificate, and an
 *  earlier flag beats a later one. */
export function chooseByName<T>(all: readonly NamedCertificate<T>[]): (serverName: string) => T | undefined {
  const byName = new Map<string, T>();
  const add = (names: readonly string[], value: T): void => {
    for (const name of names) {
      const key = name.toLowerCase();
      if (!byName.has(key)) byName.set(key, value);
    }
  };
  for (const { names, value } of all) add(names, value);
  for (const { names, certificateNames, value } of all) if (names.length === 0) add(certificateNames, value);
  return (serverName) => {
    const name = serverName.toLowerCase().replace(/\.$/, '');
    const dot = name.indexOf('.');
    return byName.get(name) ?? (dot < 0 ? undefined : byName.get(`*${name.slice(dot)}`));
  };
}
