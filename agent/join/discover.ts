/** Finds out about a cluster from nothing but an address, a token and a hash. Nothing that was fetched is used before
 *  it was checked. Source: document 2, 5.9 (5). */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { asError } from '#api/kit/clock.ts';
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
  /** None: whatever the token signed is believed. */
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
  const hint = 'it takes no bootstrap tokens, or speaks another --vocabulary';
  const message = `${server} shows no cluster-info in ${namespace}: ${hint}: ${asError(cause).message}`;
  return new JoinError('NoClusterInfo', message, { cause });
}

/** Fetches twice: first from whoever answers, then, with the authority that this gave, from the server itself.
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
      'cluster-info was another when it was fetched again: somebody else answered, or it has just changed';
    throw new JoinError('ClusterInfoChanged', message);
  }
  return cluster;
}
