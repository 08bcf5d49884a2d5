import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import { bits, fromDer, integer, oid, sequence, set, tagged, toDer, utf8 } from '#api/pki/der.ts';
import { formatPem } from '#api/pki/pem.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  throughPart,
} from '../kind.fixture.ts';
import { CertificateRequestError, parseCertificateRequest } from './certificate-request.ts';
import { certificateSigningRequest } from './certificate-signing-request.ts';

const ALGORITHMS = {
  ec: { oid: '1.2.840.10045.4.3.2', digest: 'sha256' },
  rsa: { oid: '1.2.840.113549.1.1.11', digest: 'sha256' },
  ed25519: { oid: '1.3.101.112', digest: null },
} as const;

/** Creates a PEM request, optionally signed with another key. */
function requestOf(
  algorithm: keyof typeof ALGORITHMS,
  key: KeyObject,
  signer = key,
  label = 'CERTIFICATE REQUEST',
): string {
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const name = sequence(set(sequence(oid('2.5.4.3'), utf8('someone'))));
  const info = toDer(sequence(integer(0), name, fromDer(spki), tagged(0)));
  const { oid: id, digest } = ALGORITHMS[algorithm];
  const signature = sign(digest, info, signer);
  return formatPem(label, toDer(sequence(fromDer(info), sequence(oid(id)), bits(signature))));
}

const ec = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
const KEY = ec();
const PEM = requestOf('ec', KEY);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('parseCertificateRequest', () => {
  it('reads requests with keys of all kinds', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const ed25519 = generateKeyPairSync('ed25519').privateKey;
    expect(parseCertificateRequest(PEM).publicKey.equals(createPublicKey(KEY))).toBe(true);
    expect(parseCertificateRequest(requestOf('rsa', rsa)).publicKey.asymmetricKeyType).toBe('rsa');
    expect(parseCertificateRequest(requestOf('ed25519', ed25519)).publicKey.asymmetricKeyType).toBe(
      'ed25519',
    );
    expect(parseCertificateRequest(`some text\n${PEM}`).subject.length).toBeGreaterThan(10);
  });

  const der = Buffer.from(PEM.split('\n').slice(1, -2).join(''), 'base64');
  const pem = (bytes: Buffer): string => formatPem('CERTIFICATE REQUEST', bytes);
  test.each([
    ['no PEM', 'x'],
    ['another label', requestOf('ec', KEY, KEY, 'CERTIFICATE')],
    ['nothing', pem(Buffer.alloc(0))],
    ['a structure that is cut off', pem(der.subarray(0, -5))],
    ['a length that is none', pem(Buffer.from([0x30, 0x85, 1, 1, 1, 1, 1]))],
    ['an endless length', pem(Buffer.from([0x30, 0x80, 0, 0]))],
    ['another structure', pem(toDer(sequence(sequence(), sequence(), bits(Buffer.alloc(1)))))],
    ['a signature of another', requestOf('ec', KEY, ec())],
    ['a signature of another kind', requestOf('ed25519', KEY, generateKeyPairSync('ed25519').privateKey)],
    [
      'an unknown algorithm',
      pem(toDer(sequence(fromDer(der).value.at(0) as never, sequence(oid('1.2.3')), bits(Buffer.alloc(1))))),
    ],
  ])('refuses %s', (_, text) => {
    expect(() => parseCertificateRequest(text)).toThrow(CertificateRequestError);
  });

  it('refuses whatever has a byte changed', () => {
    for (let index = 0; index < der.length; index += 1) {
      const bytes = Buffer.from(der);
      bytes[index] = (bytes[index] ?? 0) ^ 0x55;
      expect(() => parseCertificateRequest(pem(bytes))).toThrow(CertificateRequestError);
    }
  });
});

const subject: KindSubject = {
  typeRef: `certificates.${VOCABULARIES.plat.apiGroupDomain}/v1.CertificateSigningRequest`,
  entry: certificateSigningRequest,
  base: {
    metadata: { name: 'node:a', creationTimestamp: '2026-11-21T11:59:00Z' },
    spec: { request: base64(PEM), signerName: 'example.com/serving', usages: ['client auth'] },
  },
};

describe('a certificate signing request', () => {
  const SIGNER = 'spec.signerName';
  test.each<ErrorRow>([
    ['is right', {}, []],
    ['of nothing', { 'spec.request': '' }, ['spec.request Required']],
    ['that is none', { 'spec.request': base64('x') }, ['spec.request Invalid']],
    ['without usages', { 'spec.usages': [] }, ['spec.usages Required']],
    ['with a usage twice', { 'spec.usages': ['any', 'any'] }, ['spec.usages[1] Duplicate']],
    ['of no signer', { [SIGNER]: '' }, [`${SIGNER} Required`]],
    ['of a signer without path', { [SIGNER]: 'example.com' }, [`${SIGNER} Invalid`]],
    ['of a signer with two paths', { [SIGNER]: 'example.com/a/b' }, [`${SIGNER} Invalid`]],
    ['of a signer without domain', { [SIGNER]: 'example/a' }, [`${SIGNER} Invalid`]],
    ['of a broken signer', { [SIGNER]: 'e_.com/a_b' }, [`${SIGNER} Invalid`, `${SIGNER} Invalid`]],
    [
      'of a long signer',
      { [SIGNER]: `example.com/${'a'.repeat(560)}` },
      [`${SIGNER} TooLong`, `${SIGNER} Invalid`],
    ],
    [
      'of the signer of the past',
      { [SIGNER]: `${VOCABULARIES.plat.domain}/legacy-unknown` },
      [`${SIGNER} Invalid`],
    ],
    ['for ten minutes', { 'spec.expirationSeconds': 600 }, []],
    ['for less', { 'spec.expirationSeconds': 599 }, ['spec.expirationSeconds Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('is of who makes it, whatever it says', () => {
    const lies = {
      'spec.username': 'root',
      'spec.uid': '0',
      'spec.groups': ['g'],
      'spec.extra': { a: ['b'] },
    };
    expect(created(subject, lies)).toMatchObject({
      spec: { username: 'admin', groups: ['admins'] },
      status: {},
    });
    expect(created(subject, lies)['spec']).not.toHaveProperty('uid');
    expect(created(subject, lies)['spec']).not.toHaveProperty('extra');
    const user = { name: 'bob', uid: '7', groups: [], extra: { scopes: ['x'] } };
    const object = created({ ...subject, context: { user } }, lies);
    expect(object).toMatchObject({ spec: { username: 'bob', uid: '7', extra: { scopes: ['x'] } } });
    expect(object['spec']).not.toHaveProperty('groups');
  });

  it('never changes the request', () => {
    const draft = objectWith(subject, { 'spec.usages': ['any'] });
    certificateSigningRequest.strategy.prepareForUpdate?.(draft, objectWith(subject), {} as never);
    expect(draft).toEqual(objectWith(subject));
  });

  it('has any name that fits a path, and can be selected by signer', () => {
    const { nameErrors, selectableFields } = certificateSigningRequest.strategy;
    expect(nameErrors?.('node:a_B')).toEqual([]);
    expect(nameErrors?.('a/b')).toHaveLength(1);
    expect(selectableFields?.['spec.signerName']?.(objectWith(subject))).toBe('example.com/serving');
  });

  test.each<readonly [Changes, string]>([
    [{}, 'Pending'],
    [{ 'status.conditions': [{ type: 'Approved', status: 'True' }] }, 'Approved'],
    [{ 'status.conditions': [{ type: 'Denied', status: 'True' }] }, 'Denied'],
    [
      { 'status.conditions': [{ type: 'Approved', status: 'True' }], 'status.certificate': 'eA==' },
      'Approved,Issued',
    ],
    [
      {
        'status.conditions': [
          { type: 'Failed', status: 'True' },
          { type: 'Approved', status: 'True' },
        ],
      },
      'Approved,Failed',
    ],
  ])('row %#', (changes, condition) => {
    const row = ['node:a', '60s', 'example.com/serving', 'admin', condition];
    expect(rowOf(subject, { 'spec.username': 'admin', ...changes })).toEqual(row);
  });
});

describe('approval and status', () => {
  const CONDITIONS = 'status.conditions';
  const condition = (type: string, more: object = {}): object => ({ type, status: 'True', ...more });
  const having = (...conditions: readonly object[]): Changes => ({ [CONDITIONS]: conditions });
  const { certificate } = createAuthority({ commonName: 'ca' }, new Date(0), new Date(1e13));
  const issued = base64(typeof certificate === 'string' ? certificate : '');

  test.each<readonly [string, string, Changes, readonly string[], Changes]>([
    ['approval', 'approves', having(condition('Approved')), [], {}],
    ['approval', 'denies', having(condition('Denied')), [], {}],
    [
      'approval',
      'does not do both',
      having(condition('Approved'), condition('Denied')),
      [`${CONDITIONS} Invalid`],
      {},
    ],
    ['approval', 'takes nothing back', having(), [`${CONDITIONS} Forbidden`], having(condition('Approved'))],
    ['approval', 'does not fail', having(condition('Failed')), [`${CONDITIONS} Forbidden`], {}],
    [
      'approval',
      'says yes or nothing',
      having(condition('Approved', { status: 'False' })),
      [`${CONDITIONS}[0].status NotSupported`],
      {},
    ],
    [
      'approval',
      'says things once',
      having(condition('A'), condition('A')),
      [`${CONDITIONS}[1].type Duplicate`],
      {},
    ],
    [
      'approval',
      'says what it says',
      having({ type: '', status: '' }, condition('A', { status: 'x' })),
      [
        `${CONDITIONS}[0].type Required`,
        `${CONDITIONS}[0].status Required`,
        `${CONDITIONS}[1].status NotSupported`,
      ],
      {},
    ],
    ['status', 'issues', { 'status.certificate': issued }, [], {}],
    ['status', 'fails', having(condition('Failed')), [], {}],
    ['status', 'does not approve', having(condition('Approved')), [`${CONDITIONS} Forbidden`], {}],
    [
      'status',
      'takes no approval back',
      having(),
      [`${CONDITIONS} Forbidden`],
      having(condition('Approved')),
    ],
    [
      'status',
      'issues certificates only',
      { 'status.certificate': base64('x') },
      ['status.certificate Invalid'],
      {},
    ],
    [
      'status',
      'issues once',
      { 'status.certificate': base64('x') },
      ['status.certificate Forbidden'],
      {
        'status.certificate': issued,
      },
    ],
  ])('%s %s', (part, _, changes, expected, before) => {
    expect(throughPart(subject, part, changes, before).errors).toEqual(expected);
  });

  it('show the time of the last transition', () => {
    const then = '2026-11-21T10:00:00Z';
    const now = '2026-11-21T12:00:00Z';
    const before = having(condition('A', { lastUpdateTime: then, lastTransitionTime: then }));
    const { object } = throughPart(subject, 'status', having(condition('A'), condition('B')), before);
    expect(object['status']).toEqual({
      conditions: [
        condition('A', { lastUpdateTime: now, lastTransitionTime: then }),
        condition('B', { lastUpdateTime: now, lastTransitionTime: now }),
      ],
    });
  });

  it('approval leaves the certificate alone', () => {
    const changes = {
      ...having(condition('Approved')),
      'status.certificate': base64('x'),
      'spec.usages': ['any'],
    };
    const { object } = throughPart(subject, 'approval', changes, { 'status.certificate': issued });
    expect(object).toMatchObject({ spec: { usages: ['client auth'] }, status: { certificate: issued } });
  });
});
