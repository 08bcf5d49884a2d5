/** Client certificate of the agent for the API server: the first one, and its renewals.
 *
 *  Usage:
 *
 *      const certificates = await openClientCertificates(deps, options, signal);
 *      const api = createApiClient(apiDeps, certificates.clientConfig, { userAgent });
 *      void certificates.run(signal);            // with the other background work
 *
 *  - With a valid platconfig, `openClientCertificates` only reads files, so it works while the server is
 *    unavailable. Otherwise it first obtains a certificate with the bootstrap configuration, and retries until
 *    it succeeds or the signal fires: pods of other sources must not wait for it.
 *  - It throws only for permanent errors: ClientConfigError for invalid files, CertificateError
 *    `CertificateExpired` if the certificate has expired and there is no bootstrap configuration.
 *  - `clientConfig` names files, which the API client reads again, immediately after a notification of
 *    `renewed`: renewals need no new client. Requests in flight finish on their connections.
 *  - `run` renews if `rotate` is set, and is idle otherwise. It ends with the signal and never rejects.
 *
 *  Source: client certificates, document 2 §3 and §5.9; upstream's bootstrap and certificate manager. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { loadClientConfig } from '../api-client/credentials/load.ts';
import {
  type ClientCertificateDeps,
  type ClientCertificateOptions,
  type ClientPlace,
  isOf,
  placeOf,
  readPlatconfig,
  usable,
} from './client-place.ts';
import { decideStart } from './decide-start.ts';
import { CertificateError } from './errors.ts';
import { awaitRemoval } from './follow-request.ts';
import { issueCertificate } from './issue.ts';
import { keyTypeOf, parsePrivateKey } from './keys.ts';
import { persist } from './persist.ts';
import { formatPlatconfig } from './platconfig.ts';
import { createRenewal } from './renewal.ts';
import { isExpired, validityOf } from './rotation.ts';
import { isAccepted, withServer } from './server-session.ts';
import type { Wish } from './signing-request.ts';

export interface ClientCertificates {
  readonly clientConfig: ResolvedClientConfig;
  /** Returns the end of the certificate's validity, in ms since the epoch; undefined if another program manages
   *  it. */
  notAfterMs(): Promise<number | undefined>;
  run(signal: AbortSignal): Promise<void>;
}

/** @throws ClientConfigError, CertificateError, the signal's reason */
export async function openClientCertificates(
  deps: ClientCertificateDeps,
  options: ClientCertificateOptions,
  signal: AbortSignal,
): Promise<ClientCertificates> {
  const place = placeOf(deps, options);
  const platconfig = await readPlatconfig(place);
  const hasBootstrap = options.bootstrapConfig !== '';
  const decision = decideStart({ platconfig, hasBootstrap });
  if (decision === 'fail-expired') throw expired(options.platconfig);
  if (decision === 'bootstrap') await bootstrap(place, signal);
  const clientConfig = await usable(place);
  return {
    clientConfig,
    async notAfterMs() {
      const stored = await place.store.current();
      return stored === undefined ? undefined : validityOf(stored.x509).untilMs;
    },
    run: (until) => run(place, clientConfig, until),
  };
}

const expired = (where: string): CertificateError =>
  new CertificateError(
    'CertificateExpired',
    `the client certificate of ${where} has expired: join again with a new token`,
  );

async function wishOf({ options, store }: ClientPlace): Promise<Wish> {
  const { nodeName, keyType, expirationSeconds } = options;
  const stored = await store.current();
  const key = stored === undefined ? undefined : parsePrivateKey(stored.key);
  return {
    signer: 'client',
    nodeName,
    keyType: keyType ?? (key === undefined ? 'ecdsa' : keyTypeOf(key)),
    dnsNames: [],
    ipAddresses: [],
    expirationSeconds,
  };
}

const loadBootstrap = async ({ options }: ClientPlace): Promise<ResolvedClientConfig> =>
  (await loadClientConfig(options.bootstrapConfig)).config;

async function bootstrap(place: ClientPlace, signal: AbortSignal): Promise<void> {
  // Errors of the file are reported now; its content may be replaced later.
  await loadBootstrap(place);
  const attempt = (): Promise<void> => bootstrapOnce(place, signal);
  if (place.options.once === true) return await attempt();
  await persist(
    place.deps,
    {
      attempt,
      awaitRemoval: async (request) => await untilRemoved(place, await loadBootstrap(place), request, signal),
    },
    signal,
  );
}

/** Obtains a certificate, unless an earlier attempt has one, then writes the platconfig that names it. */
async function bootstrapOnce(place: ClientPlace, signal: AbortSignal): Promise<void> {
  const { deps, files, options, store } = place;
  const config = await loadBootstrap(place);
  if (!(await hasCertificate(place, config, signal))) await issueWith(place, config, signal);
  const text = formatPlatconfig(config, { pairFile: store.currentPath });
  await files.write(options.platconfig, text);
  deps.log.info({ file: options.platconfig, server: config.server }, 'Client configuration written');
}

async function hasCertificate(
  { deps, options, store }: ClientPlace,
  config: ResolvedClientConfig,
  signal: AbortSignal,
): Promise<boolean> {
  const { nodeName } = options;
  const pair = await store.current();
  if (pair === undefined || !isOf(pair, nodeName) || isExpired(pair.x509, deps.clock.now())) return false;
  return await isAccepted(deps, config, { nodeName, pair }, signal);
}

const issueWith = async (
  place: ClientPlace,
  config: ResolvedClientConfig,
  signal: AbortSignal,
): Promise<void> => {
  const wish = await wishOf(place);
  await withServer(place.deps, config, (issue) => issueCertificate(issue, place.store, wish, signal), signal);
};

const untilRemoved = (
  { deps }: ClientPlace,
  config: ResolvedClientConfig,
  request: string,
  signal: AbortSignal,
): Promise<void> => withServer(deps, config, (issue) => awaitRemoval(issue, request, signal), signal);

async function run(
  place: ClientPlace,
  clientConfig: ResolvedClientConfig,
  signal: AbortSignal,
): Promise<void> {
  const { deps, options, store } = place;
  if (!options.rotate || clientConfig.credentials.certificate === undefined) return await aborted(signal);
  const renewal = createRenewal(deps, {
    current: async () => (await store.current())?.x509,
    attempt: (until) => renew(place, clientConfig, until),
    awaitRemoval: async (request, until) =>
      await untilRemoved(place, await renewingConfig(place, clientConfig), request, until),
  });
  renewal.wake();
  await renewal.run(signal);
}

/** Returns the credentials for the request: those of the node or, if its certificate has expired, of the
 *  bootstrap configuration. */
async function renewingConfig(
  place: ClientPlace,
  clientConfig: ResolvedClientConfig,
): Promise<ResolvedClientConfig> {
  const { deps, options, store } = place;
  const stored = await store.current();
  if (stored !== undefined && !isExpired(stored.x509, deps.clock.now())) return clientConfig;
  if (options.bootstrapConfig === '') throw expired(store.currentPath);
  return await loadBootstrap(place);
}

async function renew(
  place: ClientPlace,
  clientConfig: ResolvedClientConfig,
  signal: AbortSignal,
): Promise<void> {
  const config = await renewingConfig(place, clientConfig);
  try {
    await issueWith(place, config, signal);
  } catch (thrown) {
    const isRefused = thrown instanceof CertificateError && thrown.reason === 'CertificateRefused';
    if (!isRefused || place.options.bootstrapConfig === '') throw thrown;
    await issueWith(place, await loadBootstrap(place), signal);
  }
  place.deps.renewed?.();
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
