/** Short-lived connection to the API server for certificates; explains its failures. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { type ApiClient, createApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ApiClientDeps } from '../api-client/sender.ts';
import { explainFailure } from './explain.ts';
import type { IssueDeps } from './follow-request.ts';
import { askServerTime } from './server-time.ts';
import type { StoredCertificate } from './store.ts';

export interface SessionDeps extends ApiClientDeps {
  readonly vocabulary: Vocabulary;
  readonly userAgent: string;
  /** Called with a request that needs approval. */
  readonly onWaiting?: (request: string) => void;
}

/** Runs the work with a client that is closed afterwards. @throws CertificateError, errors of the work */
export async function withServer<T>(
  deps: SessionDeps,
  config: ResolvedClientConfig,
  work: (issue: IssueDeps & { readonly api: ApiClient }) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const { clock, log, waits, vocabulary, userAgent, onWaiting } = deps;
  await using api = createApiClient(deps, config, { userAgent });
  try {
    return await work({
      api,
      clock,
      log,
      waits,
      vocabulary,
      ...(onWaiting === undefined ? {} : { onWaiting }),
    });
  } catch (thrown) {
    signal.throwIfAborted();
    const credential = config.credentials.certificate === undefined ? 'token' : 'certificate';
    const place = {
      server: config.server,
      credential,
      now: () => clock.now(),
      serverTime: (until: AbortSignal) => askServerTime(config, until),
    } as const;
    throw await explainFailure(thrown, place, signal);
  }
}

/** Reports whether the server accepts a certificate. @throws CertificateError if it does not respond */
export async function isAccepted(
  deps: SessionDeps,
  config: ResolvedClientConfig,
  { nodeName, pair }: { readonly nodeName: string; readonly pair: StoredCertificate },
  signal: AbortSignal,
): Promise<boolean> {
  const certificate = { kind: 'data', pem: pair.certificate } as const;
  const key = { kind: 'data', pem: pair.key } as const;
  const probing = { ...config, credentials: { certificate: { certificate, key } } };
  return await withServer(
    deps,
    probing,
    async ({ api }) => {
      try {
        await api.get({ apiVersion: 'v1', resource: 'nodes', name: nodeName }, signal);
        return true;
      } catch (thrown) {
        // With any other error, the server has authenticated the client.
        if (thrown instanceof ApiRequestError && thrown.status < 500) return thrown.status !== 401;
        throw thrown;
      }
    },
    signal,
  );
}
