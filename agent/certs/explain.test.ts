import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { issueIdentity } from '#api/pki/certificate.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import type { CertificateError, CertificateErrorReason } from './errors.ts';
import { explainFailure } from './explain.ts';
import { withServer } from './server-session.ts';
import { createTestAuthority } from './store.fixture.ts';

const { signal } = new AbortController();
const NOW = Date.now();
const HOUR = 3_600_000;
const authority = createTestAuthority(NOW);

describe('explainFailure', () => {
  const place = {
    server: 'https://a',
    credential: 'token',
    now: () => NOW,
    serverTime: () => Promise.resolve(undefined),
  } as const;
  const failure = (status: number): ApiRequestError =>
    new ApiRequestError({ status, reason: 'Unknown', message: 'said so' });
  const unreachable = (cause: Error): ServerUnreachableError =>
    new ServerUnreachableError('it did not respond', { cause });
  const coded = (code: string): Error => Object.assign(new Error(code), { code });

  test.each([
    ['a token', failure(401), 'TokenRefused'],
    ['a missing right', failure(403), 'NotPermitted'],
    ['a closed port', unreachable(coded('ECONNREFUSED')), 'ServerAway'],
    ['addresses that are all closed', unreachable(new AggregateError([coded('ECONNREFUSED')])), 'ServerAway'],
    ['an unknown authority', unreachable(coded('SELF_SIGNED_CERT_IN_CHAIN')), 'AuthorityMismatch'],
    [
      'one nested deep inside',
      unreachable(new Error('outer', { cause: coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE') })),
      'AuthorityMismatch',
    ],
    ['another name', unreachable(coded('ERR_TLS_CERT_ALTNAME_INVALID')), 'ServerNameMismatch'],
  ] as const)('reports %s', async (_, error, reason) => {
    expect(await explainFailure(error, place, signal)).toMatchObject({ reason, cause: error });
  });

  test('explains a rejected client certificate', async () => {
    const error = await explainFailure(failure(401), { ...place, credential: 'certificate' }, signal);
    expect(error).toMatchObject({ reason: 'CertificateRefused' });
  });

  test.each([failure(500), new Error('else')])('leaves %s as it is', async (error) => {
    expect(await explainFailure(error, place, signal)).toBe(error);
  });
});

/** Returns the result of a request to a server whose certificate is valid in that period, with a clock that
 *  is ahead. */
async function ask(
  options: { fromMs?: number; untilMs?: number; ip?: string; aheadMs?: number; ca?: string } = {},
): Promise<CertificateError> {
  const { fromMs = NOW - HOUR, untilMs = NOW + HOUR, ip = '127.0.0.1', aheadMs = 0 } = options;
  const { certificate: cert, key } = issueIdentity(authority.authority, {
    subject: { commonName: 'server' },
    ipAddresses: [ip],
    extendedUsages: ['serverAuth'],
    notBefore: new Date(fromMs),
    notAfter: new Date(untilMs),
  });
  const server = createServer({ cert, key }, (_, response) => {
    response.writeHead(500).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const clock: Clock = { ...systemClock, now: () => Date.now() + aheadMs };
  try {
    return await withServer(
      {
        clock,
        log: silentLogger,
        env: {},
        hasTerminal: false,
        passOn: () => undefined,
        vocabulary: VOCABULARIES.plat,
        userAgent: 'test/1',
      },
      {
        file: '',
        userName: '',
        server: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
        namespace: 'default',
        tls: { authority: options.ca ?? authority.authority.certificate, insecure: false },
        credentials: {},
      },
      ({ api }) => api.get({ apiVersion: 'v1', resource: 'nodes', name: 'n1' }, signal),
      signal,
    ).then(
      () => Promise.reject(new Error('it responded')),
      (error: CertificateError) => error,
    );
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('withServer', () => {
  // TLS verifies with the clock of the process; the reported clock is injected.
  test.each<[string, Parameters<typeof ask>[0], CertificateErrorReason, RegExp]>([
    [
      'an authority',
      { ca: createTestAuthority(NOW).authority.certificate },
      'AuthorityMismatch',
      /another server/,
    ],
    ['a name', { ip: '127.0.0.2' }, 'ServerNameMismatch', /is for other names/],
    ['an end', { untilMs: NOW - HOUR / 2 }, 'ServerCertificateInvalid', /has expired, and the clocks agree/],
    [
      'a beginning',
      { fromMs: NOW + HOUR / 2 },
      'ServerCertificateInvalid',
      /is not valid yet, and the clocks agree/,
    ],
    [
      'a clock that is ahead',
      { untilMs: NOW - HOUR / 2, aheadMs: HOUR },
      'ClockSkew',
      /the clocks differ.*set the clock/,
    ],
    [
      'a clock that is behind',
      { fromMs: NOW + HOUR / 2, aheadMs: -HOUR },
      'ClockSkew',
      /not valid yet, but the clocks/,
    ],
  ])('explains %s', async (_, options, reason, message) => {
    const error = await ask(options);
    expect(error).toMatchObject({ reason });
    expect(error.message).toMatch(message);
  });
});
