import { describe, expect, test } from 'vitest';
import { createAuthority } from '../pki/certificate.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { decideInteractive, formatExecInfo, parseExecCredential } from './exec-credential.ts';
import type { ExecSpec } from './exec-spec.ts';

const apiVersion = `client.authentication.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const other = `client.authentication.${VOCABULARIES.plat.apiGroupDomain}/v1beta1`;
const identity = createAuthority({ commonName: 'a' }, new Date(0), new Date(4e12));
const unrelated = createAuthority({ commonName: 'b' }, new Date(0), new Date(4e12));

const response = (status: unknown, change: object = {}): string =>
  JSON.stringify({ kind: 'ExecCredential', apiVersion, status, ...change });

describe('parseExecCredential', () => {
  test.each<[string, string, object]>([
    ['a token', response({ token: ' t\n' }), { token: 't' }],
    ['YAML', `kind: ExecCredential\napiVersion: ${apiVersion}\nstatus: {token: t}`, { token: 't' }],
    [
      'a time',
      response({ token: 't', expirationTimestamp: '1970-01-01T00:00:10Z' }),
      { token: 't', expiresAtMs: 10_000 },
    ],
    [
      'a certificate',
      response({ clientCertificateData: identity.certificate, clientKeyData: identity.key }),
      { certificate: { certificate: identity.certificate, key: identity.key } },
    ],
  ])('reads %s', (_, text, expected) => {
    expect(parseExecCredential(text, apiVersion)).toEqual(expected);
  });

  test.each<[string, string, string]>([
    ['nothing', '', 'the response is empty'],
    ['no JSON', '{"secret', 'the response is not a single JSON object'],
    ['another kind', response({}, { kind: 'Secret' }), 'kind must be ExecCredential'],
    [
      'another version',
      response({ token: 't' }, { apiVersion: other }),
      `apiVersion must be ${apiVersion}, as configured`,
    ],
    ['no status', response(undefined), 'status must be an object'],
    ['an empty status', response({}), 'status must have a token, or a client certificate with its key'],
    ['a number as a token', response({ token: 1 }), 'status.token must be a string'],
    [
      'a token of two lines',
      response({ token: 'a\r\nb: c' }),
      'status.token must not contain control characters',
    ],
    [
      'a certificate alone',
      response({ clientCertificateData: identity.certificate }),
      'status.clientCertificateData and status.clientKeyData must be given together',
    ],
    [
      'an invalid PEM',
      response({ clientCertificateData: 'secret', clientKeyData: 'secret' }),
      'status.clientCertificateData and status.clientKeyData must be PEM',
    ],
    [
      'the key of another',
      response({ clientCertificateData: identity.certificate, clientKeyData: unrelated.key }),
      'status.clientKeyData must be the key of status.clientCertificateData',
    ],
    [
      'a wrong time',
      response({ token: 't', expirationTimestamp: 'soon' }),
      'status.expirationTimestamp must be a time such as 2006-01-02T15:04:05Z',
    ],
  ])('rejects %s', (_, text, message) => {
    expect(() => parseExecCredential(text, apiVersion)).toThrow(
      expect.objectContaining({ name: 'ExecAnswerError', message }),
    );
  });
});

describe('formatExecInfo', () => {
  const spec: ExecSpec = {
    command: 'x',
    args: [],
    env: [],
    apiVersion,
    infoVariable: 'X',
    interactiveMode: 'Never',
    installHint: '',
  };
  test('passes the cluster only if requested', () => {
    expect(JSON.parse(formatExecInfo(spec, true))).toEqual({
      kind: 'ExecCredential',
      apiVersion,
      spec: { interactive: true },
    });
    const cluster = { server: 'https://a', config: { b: 1 } };
    expect(JSON.parse(formatExecInfo({ ...spec, cluster }, false))).toMatchObject({
      spec: { interactive: false, cluster },
    });
  });
});

describe('decideInteractive', () => {
  test.each([
    ['Never', true, 'silent'],
    ['Never', false, 'silent'],
    ['IfAvailable', true, 'interactive'],
    ['IfAvailable', false, 'silent'],
    ['Always', true, 'interactive'],
    ['Always', false, 'impossible'],
  ] as const)('%s with a terminal (%s) is %s', (mode, terminal, expected) => {
    expect(decideInteractive(mode, terminal)).toBe(expected);
  });
});
