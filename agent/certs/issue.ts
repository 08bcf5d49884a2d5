/** One certificate from the signers of the API server: asked for, waited for by watch, put into the store. Killed at
 *  any step it goes on from there: the key is on the disk before it is asked for, and the request is found again by
 *  its name. Source: document 2, 3; upstream's node agent. */
import type { KeyObject } from 'node:crypto';
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, sleep } from '#api/kit/clock.ts';
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

/** The request on the server, made if it is not there.
 *  @throws CertificateError RequestTaken; what the API throws */
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
      if (!isAnswer(thrown, 'AlreadyExists')) throw thrown;
    }
    try {
      const found = readSigningRequest(await api.get({ ...address, name }, signal));
      if (!isOurs(found, wish, key, vocabulary)) {
        const message = `there is a certificate request ${name} already, which is not this node's; delete it`;
        throw new CertificateError('RequestTaken', message, { request: name });
      }
      return { name, isNew: false };
    } catch (thrown) {
      // It went between the two.
      if (!isAnswer(thrown, 'NotFound')) throw thrown;
    }
  }
}

const isAnswer = (thrown: unknown, reason: string): boolean =>
  thrown instanceof ApiRequestError && thrown.reason === reason;

function isOurs(found: ReadSigningRequest, wish: Wish, key: KeyObject, vocabulary: Vocabulary): boolean {
  const [block] = parsePem(found.request);
  return (
    found.signerName === signerName(wish.signer, vocabulary) && block?.der.includes(publicBytes(key)) === true
  );
}

/** Gets a certificate and makes it the current one of the store.
 *  @throws CertificateError; what the API throws; the signal's reason */
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
    log.info({ request: name }, isNew ? 'Certificate was asked for' : 'Certificate request was found again');
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
  /** Asked for just now. */
  readonly isNew: boolean;
}

/** `undefined`: there is nothing to be had of this request, and another must be made. */
async function take(
  { clock, log }: IssueDeps,
  store: CertificateStore,
  { name, key, settled, isNew }: Settled,
): Promise<StoredCertificate | undefined> {
  switch (settled.kind) {
    case 'gone':
      log.info({ request: name }, 'Certificate request was removed before it was decided; it is made again');
      return undefined;
    case 'denied':
      throw new CertificateError(
        'RequestDenied',
        `the certificate request ${name} was denied: ${settled.why}`,
        {
          request: name,
        },
      );
    case 'failed':
      throw new CertificateError(
        'RequestFailed',
        `the signer refused the certificate request ${name}: ${settled.why}`,
        { request: name },
      );
    case 'issued': {
      const pair = readPair(settled.certificate, formatPrivateKey(key));
      if (pair === undefined) {
        const message = `what was issued for the certificate request ${name} is no certificate of its key`;
        throw new CertificateError('BadCertificate', message, { request: name });
      }
      if (isExpired(pair.x509, clock.now())) {
        if (isNew)
          throw new CertificateError('ClockSkew', expiredAtOnce(pair, clock.now()), { request: name });
      }
      if (!isNew && rotationTime(validityOf(pair.x509), shareOf(pair.x509)) <= clock.now()) {
        // It was issued long ago, and nobody fetched it.
        await store.dropPendingKey();
        return undefined;
      }
      warnOfFuture(pair, clock.now(), log);
      const saved = await store.save(pair.certificate, key);
      log.info(
        { request: name, file: store.currentPath, until: pair.x509.validTo },
        'Certificate was stored',
      );
      return saved;
    }
    default:
      return settled satisfies never;
  }
}

const iso = (atMs: number): string => new Date(atMs).toISOString();

const expiredAtOnce = ({ x509 }: StoredCertificate, nowMs: number): string =>
  `the certificate that was issued just now ended at ${iso(validityOf(x509).untilMs)}, and this machine's clock says ${iso(nowMs)}: set the clock`;

function warnOfFuture({ x509 }: StoredCertificate, nowMs: number, log: Logger): void {
  const { fromMs } = validityOf(x509);
  if (fromMs <= nowMs) return;
  const err = asError(`valid from ${iso(fromMs)}, and this machine's clock says ${iso(nowMs)}`);
  log.warn({ err }, "Certificate is not valid yet: this machine's clock is behind the signer's");
}
