/** Authorities of client certificates: the server's own and those of `--client-ca-file`, and those of authenticating
 *  proxies. */
import type { X509Certificate } from 'node:crypto';
import { createListeners } from '#api/kit/listeners.ts';
import { parseCertificates } from '../../authn/client-certificate.ts';
import type { ServerConfig } from '../../config/settings.ts';
import type { LiveIdentity } from '../../identity/keeper.ts';
import type { Follow } from './follow.ts';

const NONE: readonly X509Certificate[] = [];

export interface ClientAuthorities {
  readonly pem: () => string;
  /** The same array as long as nothing changed. */
  readonly certificates: () => readonly X509Certificate[];
  readonly onChange: (listener: () => void) => void;
}

/** Returns the bundle. @throws Error unless it contains a certificate */
export function requireCertificates(file: string, pem: string): string {
  let found: readonly X509Certificate[];
  try {
    found = parseCertificates(pem);
  } catch (cause) {
    throw new Error(`${file} contains an invalid certificate`, { cause });
  }
  if (found.length === 0) throw new Error(`${file} contains no certificate in PEM form`);
  return pem;
}

/** Authorities of authenticating proxies: none without `--requestheader-client-ca-file`.
 *  @throws Error that names the unreadable file */
export async function createProxyAuthorities(
  { requestheaderClientCaFile: file }: Pick<ServerConfig, 'requestheaderClientCaFile'>,
  follow: Follow,
): Promise<ClientAuthorities> {
  if (file === '') return { pem: () => '', certificates: () => NONE, onChange: () => undefined };
  const followed = await follow({
    what: 'CA of authenticating proxies',
    paths: [file],
    parse: ([text = '']) => ({
      pem: requireCertificates(file, text),
      certificates: parseCertificates(text),
    }),
  });
  return {
    pem: () => followed.current().pem,
    certificates: () => followed.current().certificates,
    onChange: (listener) => followed.onChange(listener),
  };
}

/** @throws Error that names the unreadable file */
export async function createClientAuthorities(
  { clientCaFile: file }: Pick<ServerConfig, 'clientCaFile'>,
  identity: LiveIdentity,
  follow: Follow,
): Promise<ClientAuthorities> {
  const listeners = createListeners('client authorities');
  const parse = ([text = '']: readonly string[]): string => requireCertificates(file, text);
  const others = file === '' ? undefined : await follow({ what: 'client CA', paths: [file], parse });
  const read = (): string => `${identity.current().authority.trusted}${others?.current() ?? ''}`;
  let pem = read();
  let certificates = parseCertificates(pem);

  function update(): void {
    if (read() === pem) return;
    pem = read();
    certificates = parseCertificates(pem);
    listeners.notify();
  }

  identity.onChange(update);
  others?.onChange(update);
  return {
    pem: () => pem,
    certificates: () => certificates,
    onChange: (listener) => listeners.add(listener),
  };
}
