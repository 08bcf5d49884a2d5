/** Certificates with their keys from configured files. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import type { FollowOptions } from '#api/kit/files/follow-files.ts';
import type { Identity } from '#api/pki/certificate.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { ServerConfig } from '../../config/settings.ts';
import type { ControllerSettings } from '../../controllers/skeleton/settings.ts';
import type { LiveIdentity } from '../../identity/keeper.ts';
import type { SignerKind } from '../../resources/groups/certificates/signers.ts';
import type { Follow } from './follow.ts';

/** Options for following a certificate, or a chain, with its key. */
export const pairOptions = (what: string, certFile: string, keyFile: string): FollowOptions<Identity> => ({
  what,
  paths: [certFile, keyFile],
  parse([certificate = '', key = '']) {
    try {
      createSecureContext({ cert: certificate, key });
    } catch (cause) {
      throw new Error(`${certFile} and ${keyFile} are not a certificate and its key in PEM form`, { cause });
    }
    return { certificate, key };
  },
});

const explained = <T>(message: string, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    throw new Error(message, { cause });
  }
};

/** Options for following an authority that signs: one certificate and its key. */
const signerOptions = (certFile: string, keyFile: string): FollowOptions<Identity> => ({
  what: 'signing CA',
  paths: [certFile, keyFile],
  parse([text = '', key = '']) {
    const found = parsePem(text).filter(({ label }) => label === 'CERTIFICATE');
    const [only] = found;
    if (only === undefined || found.length !== 1)
      throw new Error(`${certFile}: expected 1 certificate, found ${found.length}`);
    const certificate = explained(
      `${certFile} contains an invalid certificate`,
      () => new X509Certificate(only.der),
    );
    const privateKey: KeyObject = explained(`${keyFile} contains no private key in PEM form`, () =>
      createPrivateKey(key),
    );
    if (!certificate.checkPrivateKey(privateKey)) throw new Error(`${keyFile} is not the key of ${certFile}`);
    return { certificate: only.text, key };
  },
});

/** Returns the authority of a configured signer; `undefined`: none is configured. */
export type ConfiguredSigners = (kind: SignerKind) => Identity | undefined;

type SigningConfig = Pick<ServerConfig, Extract<keyof ServerConfig, `clusterSigning${string}File`>>;

/** Returns the files of each signer; empty: none. Pure. */
function signingFiles(config: SigningConfig): Readonly<Record<SignerKind, readonly [string, string]>> {
  const general: readonly [string, string] = [config.clusterSigningCertFile, config.clusterSigningKeyFile];
  const or = (cert: string, key: string): readonly [string, string] =>
    general[0] === '' ? [cert, key] : general;
  return {
    'node-serving': or(
      config.clusterSigningNodeagentServingCertFile,
      config.clusterSigningNodeagentServingKeyFile,
    ),
    'node-client': or(
      config.clusterSigningNodeagentClientCertFile,
      config.clusterSigningNodeagentClientKeyFile,
    ),
    client: or(config.clusterSigningApiserverClientCertFile, config.clusterSigningApiserverClientKeyFile),
    legacy: or(config.clusterSigningLegacyUnknownCertFile, config.clusterSigningLegacyUnknownKeyFile),
  };
}

/** @throws Error that names the invalid file */
export async function followSigners(config: SigningConfig, follow: Follow): Promise<ConfiguredSigners> {
  const found = new Map<string, () => Identity>();
  const kinds = new Map<string, () => Identity>();
  for (const [kind, [cert, key]] of Object.entries(signingFiles(config))) {
    if (cert === '') continue;
    const place = `${cert} ${key}`;
    const known = found.get(place) ?? (await follow(signerOptions(cert, key))).current;
    found.set(place, known);
    kinds.set(kind, known);
  }
  return (kind) => kinds.get(kind)?.();
}

/** As upstream, a server with files for some signers leaves the requests of the others to other programs. */
export function signingAuthority(
  config: SigningConfig,
  configured: ConfiguredSigners,
  identity: LiveIdentity,
): ControllerSettings['signing']['authorityOf'] {
  const isConfigured = Object.values(signingFiles(config)).some(([cert]) => cert !== '');
  return (kind) => {
    if (isConfigured) return configured(kind);
    const { authority, nodeServingAuthority } = identity.current();
    return kind === 'node-serving' ? nodeServingAuthority : authority;
  };
}
