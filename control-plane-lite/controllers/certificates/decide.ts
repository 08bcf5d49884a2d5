/** Decisions about certificate signing requests: sign, reject, approve, delete. Pure. Source: certificates,
 *  document 2 §2.5 and §3; upstream's certificate controllers. */
import { X509Certificate } from 'node:crypto';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import {
  type CertificateRequest,
  CertificateRequestError,
  parseCertificateRequest,
} from '../../resources/groups/certificates/certificate-request.ts';
import {
  type RequestContent,
  readRequestContent,
} from '../../resources/groups/certificates/request-content.ts';
import { signerError, signerKind } from '../../resources/groups/certificates/signers.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const SHORTEST_MS = 10 * MINUTE_MS;
/** Clocks of clients may be behind ours. */
const BACKDATE_MS = 5 * MINUTE_MS;
/** Certificates with a shorter lifetime are not backdated. */
const SHORT_MS = 8 * HOUR_MS;

const DECIDED_MS = HOUR_MS;
const PENDING_MS = 24 * HOUR_MS;

const decode64 = (text: string): string => Buffer.from(text, 'base64').toString('latin1');

export const hasCondition = ({ status }: CertificateSigningRequest, type: string): boolean =>
  status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;

export const isIssued = ({ status }: CertificateSigningRequest): boolean =>
  (status?.certificate ?? '') !== '';

/** A parsed request that can be signed. */
export interface ReadRequest {
  readonly request: CertificateRequest;
  readonly content: RequestContent;
}

/** @throws CertificateRequestError */
export function readRequest({ spec }: CertificateSigningRequest): ReadRequest {
  const request = parseCertificateRequest(decode64(spec.request));
  return { request, content: readRequestContent(request) };
}

export type SigningDecision =
  | ({ readonly kind: 'sign' } & ReadRequest)
  | { readonly kind: 'reject'; readonly message: string }
  /** Not approved, already signed, or for another signer. */
  | { readonly kind: 'leave' };

export function decideSigning(object: CertificateSigningRequest, vocabulary: Vocabulary): SigningDecision {
  const { signerName, usages = [] } = object.spec;
  const signer = signerKind(signerName, vocabulary);
  const isOpen = hasCondition(object, 'Approved') && !hasCondition(object, 'Denied');
  if (signer === undefined || !isOpen || hasCondition(object, 'Failed') || isIssued(object)) {
    return { kind: 'leave' };
  }
  try {
    const read = readRequest(object);
    const fieldError = signerError(signer, read.content, usages);
    return fieldError === undefined ? { kind: 'sign', ...read } : { kind: 'reject', message: fieldError };
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return { kind: 'reject', message: error.message };
  }
}

/** Validity of a certificate: limited by the signer and by the end of its CA. */
export function decideTerm(options: {
  readonly nowMs: number;
  /** The requested duration; at least 10 minutes are granted. */
  readonly expirationSeconds: number | undefined;
  readonly longestMs: number;
  /** End of the CA's validity. */
  readonly authorityEndMs: number;
}): { readonly notBefore: Date; readonly notAfter: Date } {
  const { nowMs, expirationSeconds, longestMs, authorityEndMs } = options;
  const requestedMs = expirationSeconds === undefined ? longestMs : expirationSeconds * 1000;
  const ttlMs = Math.min(longestMs, Math.max(requestedMs, SHORTEST_MS));
  const endMs = nowMs + (ttlMs < SHORT_MS ? ttlMs : ttlMs - BACKDATE_MS);
  return {
    notBefore: new Date(nowMs - BACKDATE_MS),
    notAfter: new Date(Math.min(endMs, authorityEndMs)),
  };
}

/** Permissions with which a node agent's request is approved: as the node itself, or for any node. */
export type ApprovalRight = 'selfnodeclient' | 'nodeclient';

/** Any of these rights suffices; none: the request is not approved automatically. */
export function approvalRights(
  object: CertificateSigningRequest,
  vocabulary: Vocabulary,
): readonly ApprovalRight[] {
  const { signerName, usages = [], username } = object.spec;
  if (hasCondition(object, 'Approved') || hasCondition(object, 'Denied') || isIssued(object)) return [];
  if (signerKind(signerName, vocabulary) !== 'node-client') return [];
  try {
    const { content } = readRequest(object);
    if (signerError('node-client', content, usages) !== undefined) return [];
    return username === content.commonName ? ['selfnodeclient', 'nodeclient'] : ['nodeclient'];
  } catch (error) {
    if (!(error instanceof CertificateRequestError)) throw error;
    return [];
  }
}

/** End of the first certificate, which is the issued one. */
function certificateEnd({ status }: CertificateSigningRequest): number {
  const [block] = parsePem(decode64(status?.certificate ?? ''));
  if (block === undefined) return Number.POSITIVE_INFINITY;
  try {
    return Date.parse(new X509Certificate(block.der).validTo);
  } catch {
    // Content that is not a certificate does not expire.
    return Number.POSITIVE_INFINITY;
  }
}

/** Time of deletion of a request, in ms since the epoch. */
export function removalTime(object: CertificateSigningRequest): number {
  const conditions = object.status?.conditions ?? [];
  const decided = conditions
    .filter(({ type }) => ['Approved', 'Denied', 'Failed'].includes(type))
    .map(({ lastUpdateTime }) => Date.parse(lastUpdateTime ?? ''))
    .filter((at) => !Number.isNaN(at));
  const created = Date.parse(object.metadata?.creationTimestamp ?? '');
  const due =
    decided.length === 0
      ? Number.isNaN(created)
        ? Number.POSITIVE_INFINITY
        : created + PENDING_MS
      : Math.max(...decided) + DECIDED_MS;
  return Math.min(due, certificateEnd(object));
}
