/** Verifies cluster-info: signed with the token, and with a CA that matches the given hash. Pure.
 *  Source: bootstrap discovery, document 2 §5.9 (5); RFC 7515, appendix F. */
import { createHash, createHmac, timingSafeEqual, X509Certificate } from 'node:crypto';
import { parseClientConfig } from '#api/client-config/parse.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { JoinError } from './errors.ts';
import type { JoinToken } from './token.ts';

export interface ClusterInfo {
  /** The signed content: a client configuration. */
  readonly content: string;
  /** Detached JWS made with the token; `undefined` without a signature. */
  readonly signature: string | undefined;
}

/** Address and trust of the cluster. */
export interface Cluster {
  readonly server: string;
  /** TLS server name; empty for the host of the URL. */
  readonly serverName: string;
  /** PEM of all trusted CA certificates. */
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
    throw new JoinError('BadClusterInfo', `cluster-info of the server has no ${CONTENT_KEY}`);
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

/** The plat vocabulary signs with the whole token, as in document 2; upstream signs with the part after the
 *  dot.
 *  See docs/decisions/0024-bootstrap-tokens.md.
 *  @throws JoinError NotSigned, AlgorithmRefused, SignatureMismatch */
export function checkSignature(
  { content, signature }: ClusterInfo,
  { id, secret, text }: JoinToken,
  vocabulary: Pick<Vocabulary, 'name'>,
): void {
  if (signature === undefined) {
    const message = `cluster-info of the server is not signed with token ${id}: the token has expired, is unknown to the server, or is not for signing`;
    throw new JoinError('NotSigned', message);
  }
  const [header = '', payload, proof = '', ...rest] = signature.split('.');
  const { alg, kid } = readHeader(header);
  if (alg !== 'HS256') {
    const message = `cluster-info is signed with algorithm ${JSON.stringify(alg ?? 'nothing')}: only HS256 is accepted`;
    throw new JoinError('AlgorithmRefused', message);
  }
  const key = vocabulary.name === 'kubernetes' ? secret : text;
  const signed = `${header}.${Buffer.from(content).toString('base64url')}`;
  const wanted = createHmac('sha256', key).update(signed).digest();
  const given = Buffer.from(proof, 'base64url');
  const isWhole = payload === '' && rest.length === 0 && kid === id;
  if (!isWhole || given.length !== wanted.length || !timingSafeEqual(given, wanted)) {
    const message = `the signature of cluster-info does not match the token: the token belongs to another server, or another server responded`;
    throw new JoinError('SignatureMismatch', message);
  }
}

/** Returns the hash of a CA key: `sha256:` and the digest of its SPKI in DER. */
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
    throw new JoinError('BadClusterInfo', 'certificate-authority-data of cluster-info is not a certificate', {
      cause,
    });
  }
}

/** Parses the cluster from the content.
 *  @param hashes of trusted CAs; empty: every CA in the signed content is trusted. Certificates with other
 *  hashes are dropped, because any holder of the token could have added their own.
 *  @throws JoinError BadClusterInfo, HashMismatch */
export function readCluster(content: string, hashes: readonly string[]): Cluster {
  const parsed = parseClientConfig(content, 'cluster-info');
  const clusters = parsed.kind === 'parsed' ? parsed.config.clusters : [];
  const [only, another] = clusters;
  const pem = only?.entry.authority.data;
  if (only === undefined || another !== undefined || pem === undefined) {
    throw new JoinError(
      'BadClusterInfo',
      'cluster-info must contain one cluster with certificate-authority-data',
    );
  }
  const { server, tlsServerName } = only.entry;
  if (URL.parse(server)?.protocol !== 'https:') {
    throw new JoinError(
      'BadClusterInfo',
      `the server ${JSON.stringify(server)} of cluster-info is not an https URL`,
    );
  }
  const found = authoritiesOf(pem);
  const trusted = hashes.length === 0 ? found : found.filter(({ hash }) => hashes.includes(hash));
  if (trusted.length === 0) {
    const there = found.length === 0 ? 'there is none' : `found ${found.map(({ hash }) => hash).join(', ')}`;
    const message = `the CA of the cluster does not match --ca-cert-hash: ${there}`;
    throw new JoinError('HashMismatch', message);
  }
  return { server, serverName: tlsServerName, authority: trusted.map(({ text }) => text).join('') };
}
