/** Discovers a cluster from an address, a token and a CA hash. Uses no fetched data before it has been
 *  verified.
 *  Source: bootstrap discovery, document 2 §5.9 (5). */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/errno.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { type SessionDeps, withServer } from '../certs/server-session.ts';
import {
  type Cluster,
  type ClusterInfo,
  checkSignature,
  readCluster,
  readClusterInfo,
} from './cluster-info.ts';
import { JoinError } from './errors.ts';
import type { JoinToken } from './token.ts';

export interface DiscoverOptions {
  /** `https://HOST:PORT` */
  readonly server: string;
  readonly token: JoinToken;
  /** Empty: every CA that is signed with the token is trusted. */
  readonly hashes: readonly string[];
}

type Tls = ResolvedClientConfig['tls'];

async function fetchInfo(
  deps: SessionDeps,
  { server, token }: DiscoverOptions,
  tls: Tls,
  signal: AbortSignal,
): Promise<ClusterInfo> {
  const { publicNamespace: namespace } = deps.vocabulary;
  const address = { apiVersion: 'v1', resource: 'configmaps', namespace, name: 'cluster-info' };
  const config = { file: '', userName: '', server, namespace, tls, credentials: {} };
  const map = await withServer(
    deps,
    config,
    async ({ api }) => {
      try {
        return await api.get(address, signal);
      } catch (thrown) {
        if (thrown instanceof ApiRequestError && !thrown.retryable) throw noInfo(server, namespace, thrown);
        throw thrown;
      }
    },
    signal,
  );
  return readClusterInfo(map, token);
}

function noInfo(server: string, namespace: string, cause: ApiRequestError): JoinError {
  const message = `${server} does not serve cluster-info in namespace ${namespace}: ${asError(cause).message}`;
  return new JoinError('NoClusterInfo', message, { cause });
}

/** Returns the first candidate in whose vocabulary the server serves cluster-info.
 *  @throws JoinError, CertificateError, the signal's reason */
export async function discoverVocabulary<T extends SessionDeps>(
  candidates: readonly T[],
  options: DiscoverOptions,
  signal: AbortSignal,
): Promise<T> {
  const refusals: JoinError[] = [];
  for (const deps of candidates) {
    try {
      await fetchInfo(deps, options, { insecure: true }, signal);
      return deps;
    } catch (thrown) {
      if (!(thrown instanceof JoinError) || thrown.reason !== 'NoClusterInfo') throw thrown;
      refusals.push(thrown);
    }
  }
  const places = candidates.map(({ vocabulary }) => vocabulary.publicNamespace).join(' or ');
  const message = `${options.server} does not serve cluster-info in namespace ${places}: start it with --enable-bootstrap-token-auth`;
  throw new JoinError('NoClusterInfo', message, { cause: refusals[0] });
}

/** Fetches cluster-info twice: first unverified, then over TLS with the CA from the first response.
 *  @throws JoinError, CertificateError, the signal's reason */
export async function discoverCluster(
  deps: SessionDeps,
  options: DiscoverOptions,
  signal: AbortSignal,
): Promise<Cluster> {
  const { token, hashes } = options;
  const heard = await fetchInfo(deps, options, { insecure: true }, signal);
  checkSignature(heard, token, deps.vocabulary);
  const cluster = readCluster(heard.content, hashes);
  const { authority, serverName } = cluster;
  const tls = { authority, insecure: false, ...(serverName === '' ? {} : { serverName }) };
  const confirmed = await fetchInfo(deps, options, tls, signal);
  checkSignature(confirmed, token, deps.vocabulary);
  if (confirmed.content !== heard.content) {
    const message =
      'cluster-info changed between the unverified and the verified fetch: another server responded, or it was just updated';
    throw new JoinError('ClusterInfoChanged', message);
  }
  return cluster;
}
