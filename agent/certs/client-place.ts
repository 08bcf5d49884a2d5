/** Client credentials of a node on disk: the platconfig, and the store of its client certificates. Sends no
 *  requests. */
import type { PemSource, ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { loadClientConfig } from '../api-client/credentials/load.ts';
import type { StartFacts } from './decide-start.ts';
import { type CertificateFiles, certificateFiles } from './files.ts';
import { type KeyType, parsePrivateKey } from './keys.ts';
import { isExpired } from './rotation.ts';
import type { SessionDeps } from './server-session.ts';
import { nodeUser } from './signing-request.ts';
import { type CertificateStore, createCertificateStore, readPair, type StoredCertificate } from './store.ts';

export interface ClientCertificateOptions {
  readonly nodeName: string;
  /** `--cert-dir`. */
  readonly certDir: string;
  /** `--platconfig`. */
  readonly platconfig: string;
  /** `--bootstrap-kubeconfig`; empty for none. */
  readonly bootstrapConfig: string;
  /** `rotateCertificates`. */
  readonly rotate: boolean;
  /** Type of new keys. Default: that of the current key, otherwise ECDSA. */
  readonly keyType?: KeyType;
  /** Requested lifetime in seconds. Default: decided by the server. At least 600. */
  readonly expirationSeconds?: number;
  /** Throw the first failure instead of retrying. Default: false. */
  readonly once?: boolean;
}

export interface ClientCertificateDeps extends SessionDeps {
  /** Default: files on disk. */
  readonly files?: CertificateFiles;
  /** Called when a renewed certificate has replaced the previous one. */
  readonly renewed?: () => void;
}

export interface ClientPlace {
  readonly deps: ClientCertificateDeps;
  readonly files: CertificateFiles;
  readonly options: ClientCertificateOptions;
  readonly store: CertificateStore;
}

export function placeOf(deps: ClientCertificateDeps, options: ClientCertificateOptions): ClientPlace {
  const { files = certificateFiles, clock } = deps;
  const store = createCertificateStore(
    { files, now: () => clock.now() },
    { dir: options.certDir, prefix: 'nodeagent-client' },
  );
  return { deps, files, options, store };
}

/** Returns the state of the platconfig, without sending requests. */
export async function platconfigState(
  deps: ClientCertificateDeps,
  options: ClientCertificateOptions,
): Promise<StartFacts['platconfig']> {
  return await readPlatconfig(placeOf(deps, options));
}

export async function readPlatconfig(place: ClientPlace): Promise<StartFacts['platconfig']> {
  const { deps, options } = place;
  if ((await certificateFiles.read(options.platconfig)) === undefined) return 'missing';
  try {
    const { config } = await loadClientConfig(options.platconfig);
    const pair = await newestPair(place, config);
    const isOver = pair !== undefined && isExpired(pair.x509, deps.clock.now());
    return isOver ? 'expired' : 'good';
  } catch (thrown) {
    deps.log.warn({ err: thrown, file: options.platconfig }, 'Failed to load client configuration');
    return 'broken';
  }
}

/** Returns the certificate that a configuration names. */
async function configuredPair({ credentials }: ResolvedClientConfig): Promise<StoredCertificate | undefined> {
  if (credentials.certificate === undefined) return undefined;
  const { certificate, key } = credentials.certificate;
  const read = (source: PemSource): Promise<string | undefined> =>
    source.kind === 'data' ? Promise.resolve(source.pem) : certificateFiles.read(source.path);
  const [pem, keyPem] = await Promise.all([read(certificate), read(key)]);
  return pem === undefined || keyPem === undefined ? undefined : readPair(pem, keyPem);
}

export const isOf = ({ x509 }: StoredCertificate, nodeName: string): boolean =>
  x509.subject.split('\n').includes(`CN=${nodeUser(nodeName)}`);

/** Returns the current credentials of the agent. With rotation, those of the store are usually newer, unless
 *  an administrator has since replaced those of the configuration. */
async function newestPair(
  { options, store }: ClientPlace,
  config: ResolvedClientConfig,
): Promise<StoredCertificate | undefined> {
  const configured = await configuredPair(config);
  if (configured === undefined || !options.rotate) return configured;
  const stored = await store.current();
  if (stored === undefined || !isOf(stored, options.nodeName)) return configured;
  const isNewer = Date.parse(configured.x509.validFrom) > Date.parse(stored.x509.validFrom);
  return isNewer ? configured : stored;
}

/** Returns the platconfig, with the certificates of the store if rotation is enabled. @throws
 *  ClientConfigError */
export async function usable(place: ClientPlace): Promise<ResolvedClientConfig> {
  const { deps, options, store } = place;
  const { config, warnings } = await loadClientConfig(options.platconfig);
  for (const warning of warnings) deps.log.warn({}, warning);
  if (!options.rotate || config.credentials.certificate === undefined) return config;
  const pair = await newestPair(place, config);
  const key = pair === undefined ? undefined : parsePrivateKey(pair.key);
  if (pair === undefined || key === undefined) return config;
  const stored = await store.current();
  if (stored?.key !== pair.key) await store.save(pair.certificate, key);
  const source = { kind: 'file', path: store.currentPath } as const;
  return {
    ...config,
    credentials: { ...config.credentials, certificate: { certificate: source, key: source } },
  };
}
