/** What a certificate is asked for with, and what has become of it. Pure. Source: document 2, 2.5 and 3. */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { Subject } from '#api/pki/certificate.ts';
import type { CertificateSigningRequest } from '#api/schema/gen/certificates-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import type { ResourceAddress } from '../api-client/resource-path.ts';
import type { KeyType } from './keys.ts';

type Usages = NonNullable<CertificateSigningRequest['spec']['usages']>;

/** A certificate as it is wanted. */
export interface Wish {
  readonly signer: 'client' | 'serving';
  readonly nodeName: string;
  readonly keyType: KeyType;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** Shorter than the server gives, if given. */
  readonly expirationSeconds?: number | undefined;
}

/** Both signers ask for exactly three usages, whatever the key: with fewer a server of this release refuses, and
 *  later ones take them for keys of either kind. */
const USAGES: Readonly<Record<Wish['signer'], Usages>> = {
  client: ['digital signature', 'key encipherment', 'client auth'],
  serving: ['digital signature', 'key encipherment', 'server auth'],
};

const NODES_GROUP = 'system:nodes';

/** User name of a node. */
export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;

export const subjectOf = ({ nodeName }: Pick<Wish, 'nodeName'>): Subject => ({
  commonName: nodeUser(nodeName),
  organizations: [NODES_GROUP],
});

/** SPKI in DER of a key's public half. */
export const publicBytes = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: 'spki', format: 'der' });

/** Name of the request: the same for the same wish with the same key, so that it is found again. */
export function requestName(wish: Wish, key: KeyObject, vocabulary: Pick<Vocabulary, 'domain'>): string {
  const { signer, nodeName, dnsNames, ipAddresses, expirationSeconds = 0 } = wish;
  const content = [
    publicBytes(key).toString('base64'),
    vocabulary.domain,
    signer,
    nodeName,
    dnsNames.toSorted(),
    ipAddresses.toSorted(),
    expirationSeconds,
  ];
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return `node-csr-${digest.slice(0, 40)}`;
}

export const signerName = (signer: Wish['signer'], vocabulary: Vocabulary): string =>
  `${vocabulary.domain}/${signer === 'client' ? vocabulary.nodeClientSigner : vocabulary.nodeServingSigner}`;

/** Where requests are. */
export const requestsAddress = ({ apiGroupDomain }: Pick<Vocabulary, 'apiGroupDomain'>): ResourceAddress => ({
  apiVersion: `certificates.${apiGroupDomain}/v1`,
  resource: 'certificatesigningrequests',
});

/** The object to send.
 *  @param request PEM */
export function requestObject(wish: Wish, name: string, request: string, vocabulary: Vocabulary): Json {
  const { signer, expirationSeconds } = wish;
  return {
    apiVersion: requestsAddress(vocabulary).apiVersion,
    kind: 'CertificateSigningRequest',
    metadata: { name },
    spec: {
      request: Buffer.from(request).toString('base64'),
      signerName: signerName(signer, vocabulary),
      usages: USAGES[signer],
      ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
    },
  };
}

export type RequestState =
  | { readonly kind: 'pending' | 'approved' }
  | { readonly kind: 'denied' | 'failed'; readonly why: string }
  /** PEM. */
  | { readonly kind: 'issued'; readonly certificate: string };

export interface ReadSigningRequest {
  readonly name: string;
  readonly signerName: string;
  /** PEM. */
  readonly request: string;
  readonly state: RequestState;
}

type Members = Readonly<Record<string, unknown>>;

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const decode64 = (value: unknown): string => Buffer.from(text(value), 'base64').toString('latin1');

function stateOf(status: Members): RequestState {
  const conditions: readonly unknown[] = Array.isArray(status['conditions']) ? status['conditions'] : [];
  const find = (type: string): Members | undefined =>
    conditions
      .map(members)
      .find((condition) => condition['type'] === type && condition['status'] !== 'False');
  const why = (condition: Members): string => {
    const said = [text(condition['reason']), text(condition['message'])].filter((part) => part !== '');
    return said.length === 0 ? 'no reason was given' : said.join(': ');
  };
  const denied = find('Denied');
  if (denied !== undefined) return { kind: 'denied', why: why(denied) };
  const failed = find('Failed');
  if (failed !== undefined) return { kind: 'failed', why: why(failed) };
  const approved = find('Approved');
  const certificate = decode64(status['certificate']);
  if (approved === undefined) return { kind: 'pending' };
  return certificate === '' ? { kind: 'approved' } : { kind: 'issued', certificate };
}

/** What the server says of a request. */
export function readSigningRequest(object: Json): ReadSigningRequest {
  const spec = members(object['spec']);
  return {
    name: text(members(object['metadata'])['name']),
    signerName: text(spec['signerName']),
    request: decode64(spec['request']),
    state: stateOf(members(object['status'])),
  };
}
