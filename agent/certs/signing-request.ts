/** Builds certificate signing requests and parses their results. Pure. Source: certificate requests, document
 *  2 §2.5 and §3. */

import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import { textOf } from '#api/kit/object.ts';
import type { Subject } from '#api/pki/certificate.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Json } from '../api-client/client.ts';
import type { ResourceAddress } from '../api-client/resource-path.ts';
import type { KeyType } from './keys.ts';

type Usages = NonNullable<CertificateSigningRequest['spec']['usages']>;

/** Requested certificate. */
export interface Wish {
  readonly signer: 'client' | 'serving';
  readonly nodeName: string;
  readonly keyType: KeyType;
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  /** Requested lifetime, if shorter than the default of the server. */
  readonly expirationSeconds?: number | undefined;
}

/** Both signers require exactly three usages, whatever the key: with fewer, a server of this release rejects
 *  the request, and later ones accept these for either key type. */
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

/** Returns the SPKI of a public key in DER. */
export const publicBytes = (key: KeyObject): Buffer =>
  createPublicKey(key).export({ type: 'spki', format: 'der' });

/** Returns the name of the request: identical for the same parameters and key, so that it is found again. */
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

/** Returns the address of certificate requests. */
export const requestsAddress = ({ apiGroupDomain }: Pick<Vocabulary, 'apiGroupDomain'>): ResourceAddress => ({
  apiVersion: `certificates.${apiGroupDomain}/v1`,
  resource: 'certificatesigningrequests',
});

/** Returns the object to create.
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

const decode64 = (value: unknown): string => Buffer.from(textOf(value), 'base64').toString('latin1');

function stateOf(status: Members): RequestState {
  const conditions: readonly unknown[] = Array.isArray(status['conditions']) ? status['conditions'] : [];
  const find = (type: string): Members | undefined =>
    conditions
      .map(members)
      .find((condition) => condition['type'] === type && condition['status'] !== 'False');
  const why = (condition: Members): string => {
    const said = [textOf(condition['reason']), textOf(condition['message'])].filter((part) => part !== '');
    return said.length === 0 ? 'no reason given' : said.join(': ');
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

/** Parses the state of a request. */
export function readSigningRequest(object: Json): ReadSigningRequest {
  const spec = members(object['spec']);
  return {
    name: textOf(members(object['metadata'])['name']),
    signerName: textOf(spec['signerName']),
    request: decode64(spec['request']),
    state: stateOf(members(object['status'])),
  };
}
