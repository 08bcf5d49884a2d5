/** Content of the cluster-info ConfigMap: the data by which a joining machine verifies the cluster, signed
 *  with every bootstrap token that allows signing. Pure. Source: cluster-info, document 2 §5.9 (5); RFC 7515,
 *  appendix F. */
import { createHmac } from 'node:crypto';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { BootstrapToken } from '../../authn/bootstrap-secret.ts';

export const CLUSTER_INFO = 'cluster-info';
export const SIGNATURE_PREFIX = 'jws-kubeconfig-';
export const CLUSTER_KEY = 'kubeconfig';

export interface ClusterFacts {
  readonly url: string;
  /** PEM. */
  readonly authority: string;
}

/** A client configuration without a user. JSON, which is YAML as well. */
export function formatClusterInfo({ url, authority }: ClusterFacts): string {
  const cluster = {
    'certificate-authority-data': Buffer.from(authority).toString('base64'),
    server: url,
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: '', cluster }],
    contexts: [],
    'current-context': '',
    preferences: {},
    users: [],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}

const encode = (text: string): string => Buffer.from(text).toString('base64url');

/** A JWS (HS256) of the content without the content. Deviation: upstream's clients have only the secret part of the
 *  token as the key, which the upstream vocabulary follows; ours has the whole token, as document 2 says.
 *  docs/decisions/0024-bootstrap-tokens.md. */
function signDetached(
  content: string,
  { id, secret }: Pick<BootstrapToken, 'id' | 'secret'>,
  vocabulary: Pick<Vocabulary, 'name'>,
): string {
  const header = encode(JSON.stringify({ alg: 'HS256', kid: id }));
  const key = vocabulary.name === 'kubernetes' ? secret : `${id}.${secret}`;
  const signature = createHmac('sha256', key)
    .update(`${header}.${encode(content)}`)
    .digest('base64url');
  return `${header}..${signature}`;
}

/** The data with a signature for exactly these tokens; `undefined`: there is nothing to sign. */
export function withSignatures(
  data: Readonly<Record<string, string>>,
  tokens: readonly BootstrapToken[],
  vocabulary: Pick<Vocabulary, 'name'>,
): Readonly<Record<string, string>> | undefined {
  const content = data[CLUSTER_KEY];
  if (content === undefined) return undefined;
  const others = Object.entries(data).filter(([key]) => !key.startsWith(SIGNATURE_PREFIX));
  const signatures = tokens.map(
    (token) => [`${SIGNATURE_PREFIX}${token.id}`, signDetached(content, token, vocabulary)] as const,
  );
  return Object.fromEntries([...others, ...signatures]);
}
