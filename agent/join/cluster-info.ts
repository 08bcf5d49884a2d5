/** Whether what a server says of its cluster can be believed: signed with the token, and of the authority whose hash
 *  was given. Pure. Source: document 2, 5.9 (5); RFC 7515, appendix F. */
import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto';
import { parseClientConfig } from '#api/client-config/parse.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { JoinError } from './errors.ts';
import type { JoinToken } from './token.ts';

export interface ClusterInfo {
  /** What was signed: a client configuration. */
  readonly content: string;
  /** Detached JWS made with the token; `undefined` if there is none. */
  readonly signature: string | undefined;
}

/** How to reach the cluster. */
export interface Cluster {
  readonly server: string;
  /** Empty for the server's own. */
  readonly serverName: string;
  /** PEM of all that may be trusted. */
  readonly authority: string;
}

const CONTENT_KEY = 'kubeconfig';
const SIGNATURE_PREFIX = 'jws-kubeconfig-';

/** @throws JoinError BadClusterInfo */
export function readClusterInfo(map: Readonly<Record<string, unknown>>, { id }: JoinToken): ClusterInfo {
  const { data } = map;
  const member = (key: string): unknown =>
    typeof data === 'object' && data !== null && Object.hasOwn(data, key)
      ? (Reflect.get(data, key) as unknown)
      : undefined;
  const content = member(CONTENT_KEY);
  const signature = member(`${SIGNATURE_PREFIX}${id}`);
  if (typeof content !== 'string') {
    throw new JoinError('BadClusterInfo', `the server's cluster-info has no ${CONTENT_KEY}`);
  }
  return { content, signature: typeof signature === 'string' ? signature : undefined };
}

function readHeader(encoded: string): Readonly<Record<string, unknown>> {
  try {
    const header: unknown = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8'));
    return typeof header === 'object' && header !== null ? { ...header } : {};
  } catch {
    return {};
  }
}

/** Our vocabulary signs with the whole token, as document 2 says, upstream's with the part behind the dot.
 *  See docs/decisions/0024-bootstrap-tokens.md.
 *  @throws JoinError NotSigned, AlgorithmRefused, SignatureMismatch */
export function checkSignature(
  { content, signature }: ClusterInfo,
  { id, secret, text }: JoinToken,
  vocabulary: Pick<Vocabulary, 'name'>,
): void {
  if (signature === undefined) {
    const message = `the server's cluster-info is not signed with the token ${id}: it has expired, is unknown there, or is not for signing`;
    throw new JoinError('NotSigned', message);
  }
  const [header = '', payload, proof = '', ...rest] = signature.split('.');
  const { alg, kid } = readHeader(header);
  if (alg !== 'HS256') {
    const message = `cluster-info is signed by ${JSON.stringify(alg ?? 'nothing')}, and only HS256 is believed`;
    throw new JoinError('AlgorithmRefused', message);
  }
  const key = vocabulary.name === 'kubernetes' ? secret : text;
  const signed = `${header}.${Buffer.from(content).toString('base64url')}`;
  const wanted = createHmac('sha256', key).update(signed).digest();
  const given = Buffer.from(proof, 'base64url');
  const isWhole = payload === '' && rest.length === 0 && kid === id;
  if (!isWhole || given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    const message = `the signature of cluster-info is not the token's: the token is another server's, or somebody else answered`;
    throw new JoinError('SignatureMismatch', message);
  }
}

/** What names an authority's key: `sha256:` and the digest of its SPKI in DER. */
export function authorityHash(certificate: X509Certificate): string {
  const der = certificate.publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(der).digest('hex')}`;
}

function authoritiesOf(pem: string): readonly { readonly text: string; readonly hash: string }[] {
  try {
    return parsePem(pem)
      .filter(({ label }) => label === 'CERTIFICATE')
      .map(({ der, text }) => ({ text, hash: authorityHash(new X509Certificate(der)) }));
  } catch (cause) {
    throw new JoinError('BadClusterInfo', 'cluster-info has an authority that is no certificate', { cause });
  }
}

/** The cluster that the content tells of.
 *  @param hashes of the authorities that may be trusted; none: whatever the token signed may be. Of several
 *    certificates only those are taken that were named: whoever else holds the token might have put his own beside.
 *  @throws JoinError BadClusterInfo, HashMismatch */
export function readCluster(content: string, hashes: readonly string[]): Cluster {
  const parsed = parseClientConfig(content, 'cluster-info');
  const clusters = parsed.kind === 'parsed' ? parsed.config.clusters : [];
  const [only, another] = clusters;
  const pem = only?.entry.authority.data;
  if (only === undefined || another !== undefined || pem === undefined) {
    throw new JoinError(
      'BadClusterInfo',
      'cluster-info must name one cluster, with the data of its authority',
    );
  }
  const { server, tlsServerName } = only.entry;
  if (URL.parse(server)?.protocol !== 'https:') {
    throw new JoinError('BadClusterInfo', `cluster-info names ${JSON.stringify(server)}, which is not https`);
  }
  const found = authoritiesOf(pem);
  const trusted = hashes.length === 0 ? found : found.filter(({ hash }) => hashes.includes(hash));
  if (trusted.length === 0) {
    const there = found.length === 0 ? 'there is none' : `it is ${found.map(({ hash }) => hash).join(', ')}`;
    const message = `the authority of the cluster is not the one of --ca-cert-hash: ${there}`;
    throw new JoinError('HashMismatch', message);
  }
  return { server, serverName: tlsServerName, authority: trusted.map(({ text }) => text).join('') };
}
