import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { makeKey } from './keys.ts';
import { readSigningRequest, requestName, requestObject, type Wish } from './signing-request.ts';

const { plat, kubernetes } = VOCABULARIES;
const wish: Wish = {
  signer: 'serving',
  nodeName: 'n1',
  keyType: 'ecdsa',
  dnsNames: ['n1', 'n2'],
  ipAddresses: ['10.0.0.1'],
};
const key = await makeKey('ecdsa');

describe('requestName', () => {
  const name = requestName(wish, key, plat);

  test('is the same for the same parameters and key', () => {
    expect(requestName({ ...wish, dnsNames: ['n2', 'n1'] }, key, plat)).toBe(name);
    expect(name).toMatch(/^node-csr-[0-9a-f]{40}$/);
  });

  test.each<[string, Partial<Wish>]>([
    ['signer', { signer: 'client' }],
    ['node', { nodeName: 'n3' }],
    ['names', { dnsNames: ['n1'] }],
    ['addresses', { ipAddresses: [] }],
    ['time', { expirationSeconds: 600 }],
  ])('differs for another %s', (_, change) => {
    expect(requestName({ ...wish, ...change }, key, plat)).not.toBe(name);
  });

  test('differs for another key', async () => {
    expect(requestName(wish, await makeKey('ecdsa'), plat)).not.toBe(name);
  });
});

describe('requestObject', () => {
  test.each([
    [plat, 'client', 'client auth'],
    [plat, 'serving', 'server auth'],
    [kubernetes, 'client', 'client auth'],
    [kubernetes, 'serving', 'server auth'],
  ] as const)('requests exactly the usages of the signer', (words, signer, usage) => {
    const last = signer === 'client' ? words.nodeClientSigner : words.nodeServingSigner;
    expect(requestObject({ ...wish, signer }, 'x', 'pem', words)).toMatchObject({
      apiVersion: `certificates.${words.apiGroupDomain}/v1`,
      metadata: { name: 'x' },
      spec: {
        request: Buffer.from('pem').toString('base64'),
        signerName: `${words.domain}/${last}`,
        usages: ['digital signature', 'key encipherment', usage],
      },
    });
  });
});

describe('readSigningRequest', () => {
  const approved = { type: 'Approved', status: 'True' };
  const denied = { type: 'Denied', status: 'True', reason: 'No', message: 'not you' };
  const certificate = Buffer.from('pem').toString('base64');

  test.each([
    ['nothing yet', {}, { kind: 'pending' }],
    ['a status that is none', null, { kind: 'pending' }],
    ['approved', { conditions: [approved] }, { kind: 'approved' }],
    ['signed', { conditions: [approved], certificate }, { kind: 'issued', certificate: 'pem' }],
    ['signed, but not approved', { certificate }, { kind: 'pending' }],
    ['denied', { conditions: [denied], certificate }, { kind: 'denied', why: 'No: not you' }],
    ['failed', { conditions: [approved, { type: 'Failed' }] }, { kind: 'failed', why: 'no reason given' }],
    ['not denied', { conditions: [{ type: 'Denied', status: 'False' }] }, { kind: 'pending' }],
    ['nonsense', { conditions: [1, null, 'x'], certificate: 5 }, { kind: 'pending' }],
  ])('%s', (_, status, state) => {
    expect(readSigningRequest({ metadata: { name: 'x' }, status })).toMatchObject({ name: 'x', state });
  });
});
