/** TLS of the server: its certificates, which follow their files, the versions and the cipher suites. */
import { X509Certificate } from 'node:crypto';
import type { SecureVersion } from 'node:tls';
import type { FollowedFiles } from '#api/kit/files/follow-files.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { isInsecureSuite, isTlsVersionName, nodeTlsVersion, opensslList } from '#api/pki/suite-names.ts';
import type { ServerConfig } from '../../config/settings.ts';
import { chooseByName, parseSniValue } from '../../config/sni.ts';
import type { ServingCertificate } from '../../http/connection/listener.ts';
import type { LiveIdentity } from '../../identity/keeper.ts';
import type { ClientAuthorities } from './client-authorities.ts';
import type { Follow } from './follow.ts';
import { pairOptions } from './key-pairs.ts';

export interface ServingTls {
  readonly current: () => ServingCertificate;
  /** Calls the listener with every later certificate. */
  readonly onChange: (listener: (certificate: ServingCertificate) => void) => void;
}

export interface ServingTlsDeps {
  readonly config: Pick<ServerConfig, 'tlsCertFile' | 'tlsPrivateKeyFile' | 'tlsSniCertKey'>;
  readonly identity: LiveIdentity;
  readonly clientAuthorities: ClientAuthorities;
  readonly proxyAuthorities: ClientAuthorities;
  readonly follow: Follow;
}

interface Named {
  readonly files: FollowedFiles<Identity>;
  readonly names: readonly string[];
}

/** Names of a certificate for which it is chosen: its common name only if there are no others, as upstream. */
function namesIn({ certificate }: Identity): readonly string[] {
  const { subjectAltName = '', subject } = new X509Certificate(certificate);
  const alternatives = subjectAltName
    .split(', ')
    .flatMap((item) => (item.startsWith('DNS:') ? [item.slice('DNS:'.length)] : []));
  if (subjectAltName !== '') return alternatives;
  return subject.split('\n').flatMap((line) => (line.startsWith('CN=') ? [line.slice('CN='.length)] : []));
}

async function followNamed({ config, follow }: ServingTlsDeps): Promise<readonly Named[]> {
  return Promise.all(
    config.tlsSniCertKey.map(async (value) => {
      const parsed = parseSniValue(value);
      if ('problem' in parsed) throw new Error(`--tls-sni-cert-key: ${value}: ${parsed.problem}`);
      const { certFile, keyFile, names } = parsed.pair;
      return { files: await follow(pairOptions('certificate of a server name', certFile, keyFile)), names };
    }),
  );
}

/** @throws Error that names the unreadable file */
export async function createServingTls(deps: ServingTlsDeps): Promise<ServingTls> {
  const { config, identity, follow, clientAuthorities, proxyAuthorities } = deps;
  const { tlsCertFile: certFile, tlsPrivateKeyFile: keyFile } = config;
  const named = await followNamed(deps);
  const configured =
    certFile === '' ? undefined : await follow(pairOptions('serving certificate', certFile, keyFile));
  const build = (): ServingCertificate => {
    const { certificate: cert, key } = configured?.current() ?? identity.current().serving;
    const choose = chooseByName(
      named.map(({ files, names }) => ({
        value: files.current(),
        names,
        certificateNames: namesIn(files.current()),
      })),
    );
    // Named to clients, which send only a certificate of one of them.
    const ca = `${clientAuthorities.pem()}${proxyAuthorities.pem()}`;
    return { cert, key, ca, named: choose };
  };
  const listeners = createListeners<[certificate: ServingCertificate]>('serving certificate');
  let current = build();
  const update = (): void => {
    current = build();
    listeners.notify(current);
  };
  identity.onChange(update);
  clientAuthorities.onChange(update);
  proxyAuthorities.onChange(update);
  configured?.onChange(update);
  for (const { files } of named) files.onChange(update);
  return { current: () => current, onChange: (listener) => listeners.add(listener) };
}

type TlsConfig = Pick<ServerConfig, 'tlsMinVersion' | 'tlsCipherSuites'>;

/** Versions and suites in the spelling of Node. Pure. */
export function tlsOptions({ tlsMinVersion, tlsCipherSuites }: TlsConfig): {
  readonly minVersion: SecureVersion;
  readonly ciphers?: string;
} {
  const minVersion = nodeTlsVersion(isTlsVersionName(tlsMinVersion) ? tlsMinVersion : '');
  const isOld = minVersion === 'TLSv1' || minVersion === 'TLSv1.1';
  if (tlsCipherSuites.length === 0 && !isOld) return { minVersion };
  // The signatures of old versions are below OpenSSL's default security level.
  const level = isOld ? ':@SECLEVEL=0' : '';
  const suites = tlsCipherSuites.length === 0 ? OLD_SUITES : tlsCipherSuites;
  return { minVersion, ciphers: `${opensslList(suites)}${level}` };
}

/** With old versions enabled, their suites are offered after the usual ones. */
const OLD_SUITES: readonly string[] = ['ECDSA', 'RSA'].flatMap((signature) =>
  [
    'AES_128_GCM_SHA256',
    'AES_256_GCM_SHA384',
    'CHACHA20_POLY1305_SHA256',
    'AES_128_CBC_SHA',
    'AES_256_CBC_SHA',
  ].map((bulk) => `TLS_ECDHE_${signature}_WITH_${bulk}`),
);

/** Names of configured suites that upstream calls insecure. */
export const insecureSuites = ({ tlsCipherSuites }: TlsConfig): readonly string[] =>
  tlsCipherSuites.filter(isInsecureSuite);
