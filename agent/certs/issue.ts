/** Obtains one certificate from the signers of the API server: creates the request, watches it, stores the
 *  result. Resumes after a crash at any step: the key is persisted before the request is created, and the
 *  request is found again by its name. Source: client certificates, document 2 §3; upstream's node agent. */
import type { KeyObject } from 'node:crypto';
import { createBackoff } from '#api/kit/backoff.ts';
import { sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { CertificateError } from './errors.ts';
import { followRequest, type IssueDeps, type SettledRequest } from './follow-request.ts';
import { formatPrivateKey } from './keys.ts';
import { isExpired, rotationTime, shareOf, validityOf } from './rotation.ts';
import {
  publicBytes,
  type ReadSigningRequest,
  readSigningRequest,
  requestName,
  requestObject,
  requestsAddress,
  signerName,
  subjectOf,
  type Wish,
} from './signing-request.ts';
import { type CertificateStore, readPair, type StoredCertificate } from './store.ts';

const RETRY = { initialMs: 500, maxMs: 30_000, jitter: 0.2 };

/** Returns the request on the server, and creates it if it does not exist.
 *  @throws CertificateError RequestTaken; API errors */
async function submit(
  deps: IssueDeps,
  wish: Wish,
  key: KeyObject,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly isNew: boolean }> {
  const { api, vocabulary } = deps;
  const name = requestName(wish, key, vocabulary);
  const address = requestsAddress(vocabulary);
  const { makeCertificateRequest } = await import('#api/pki/certificate-request.ts');
  const { dnsNames, ipAddresses } = wish;
  const pem = makeCertificateRequest({ subject: subjectOf(wish), dnsNames, ipAddresses }, key);
  for (;;) {
    try {
      await api.create(address, requestObject(wish, name, pem, vocabulary), signal);
      return { name, isNew: true };
    } catch (thrown) {
      if (!hasReason(thrown, 'AlreadyExists')) throw thrown;
    }
    try {
      const found = readSigningRequest(await api.get({ ...address, name }, signal));
      if (!isOurs(found, wish, key, vocabulary)) {
        const message = `certificate request ${name} already exists and does not belong to this node; delete it`;
        throw new CertificateError('RequestTaken', message, { request: name });
      }
      return { name, isNew: false };
    } catch (thrown) {
      // Deleted between the two calls.
      if (!hasReason(thrown, 'NotFound')) throw thrown;
    }
  }
}

const hasReason = (thrown: unknown, reason: string): boolean =>
  thrown instanceof ApiRequestError && thrown.reason === reason;

function isOurs(found: ReadSigningRequest, wish: Wish, key: KeyObject, vocabulary: Vocabulary): boolean {
  const [block] = parsePem(found.request);
  return (
    found.signerName === signerName(wish.signer, vocabulary) && block?.der.includes(publicBytes(key)) === true
  );
}

/** Obtains a certificate and makes it the current one of the store.
 *  @throws CertificateError; API errors; the signal's reason */
export async function issueCertificate(
  deps: IssueDeps,
  store: CertificateStore,
  wish: Wish,
  signal: AbortSignal,
): Promise<StoredCertificate> {
  const { clock, log } = deps;
  const backoff = createBackoff(RETRY);
  for (;;) {
    const key = await store.pendingKey(wish.keyType);
    const { name, isNew } = await submit(deps, wish, key, signal);
    log.info({ request: name }, isNew ? 'Certificate requested' : 'Certificate request found again');
    const settled = await followRequest(deps, name, signal);
    const outcome = await take(deps, store, { name, key, settled, isNew });
    if (outcome !== undefined) return outcome;
    await sleep(clock, backoff.fail(name, clock.now()), signal);
  }
}

interface Settled {
  readonly name: string;
  readonly key: KeyObject;
  readonly settled: SettledRequest;
  /** The request was just created. */
  readonly isNew: boolean;
}

/** `undefined`: the request is unusable; create another one. */
async function take(
  { clock, log }: IssueDeps,
  store: CertificateStore,
  { name, key, settled, isNew }: Settled,
): Promise<StoredCertificate | undefined> {
  switch (settled.kind) {
    case 'gone':
      log.info({ request: name }, 'Certificate request deleted before a decision; creating another');
      return undefined;
    case 'denied':
      throw new CertificateError('RequestDenied', `certificate request ${name} was denied: ${settled.why}`, {
        request: name,
      });
    case 'failed':
      throw new CertificateError(
        'RequestFailed',
        `the signer rejected certificate request ${name}: ${settled.why}`,
        { request: name },
      );
    case 'issued': {
      const pair = readPair(settled.certificate, formatPrivateKey(key));
      if (pair === undefined) {
        const message = `the certificate issued for certificate request ${name} does not match its key`;
        throw new CertificateError('BadCertificate', message, { request: name });
      }
      if (isExpired(pair.x509, clock.now())) {
        if (isNew)
          throw new CertificateError('ClockSkew', expiredAtOnce(pair, clock.now()), { request: name });
      }
      if (!isNew && rotationTime(validityOf(pair.x509), shareOf(pair.x509)) <= clock.now()) {
        // It was issued long ago and never stored.
        await store.dropPendingKey();
        return undefined;
      }
      warnOfFuture(pair, clock.now(), log);
      const saved = await store.save(pair.certificate, key);
      log.info({ request: name, file: store.currentPath, until: pair.x509.validTo }, 'Certificate stored');
      return saved;
    }
    default:
      return settled satisfies never;
  }
}

const iso = (atMs: number): string => new Date(atMs).toISOString();

const expiredAtOnce = ({ x509 }: StoredCertificate, nowMs: number): string =>
  `the new certificate expired at ${iso(validityOf(x509).untilMs)}, but the clock of this machine is at ${iso(nowMs)}: set the clock`;

function warnOfFuture({ x509 }: StoredCertificate, nowMs: number, log: Logger): void {
  const { fromMs } = validityOf(x509);
  if (fromMs <= nowMs) return;
  const err = asError(`valid from ${iso(fromMs)}, but the clock of this machine is at ${iso(nowMs)}`);
  log.warn({ err }, 'Certificate not valid yet; clock of this machine is behind');
}
