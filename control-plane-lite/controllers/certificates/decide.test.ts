import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { CertificateSigningRequest } from '#api/gen/certificates-v1.ts';
import { createAuthority, createKey } from '#api/pki/certificate.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { parseCertificateRequest } from '#plane/resources/groups/certificates/certificate-request.ts';
import { readRequestContent } from '#plane/resources/groups/certificates/request-content.ts';
import {
  makeRequest,
  type RequestTraits,
  requestData,
} from '#plane/resources/groups/certificates/requests.fixture.ts';
import { type SignerKind, signerError, signerKind } from '../../resources/groups/certificates/signers.ts';
import { approvalRights, decideSigning, decideTerm, removalTime } from './decide.ts';
import { signRequest } from './signer.ts';

const { plat } = VOCABULARIES;
const NODE: RequestTraits = { commonName: 'system:node:a', organizations: ['system:nodes'] };
const CLIENT_USAGES = ['key encipherment', 'digital signature', 'client auth'];
const SERVING_USAGES = ['key encipherment', 'digital signature', 'server auth'];
const NOW = Date.parse('2026-05-01T00:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const contentOf = (traits: RequestTraits): ReturnType<typeof readRequestContent> =>
  readRequestContent(parseCertificateRequest(makeRequest(traits)));

interface Traits {
  readonly subject?: RequestTraits;
  readonly signer?: string;
  readonly usages?: readonly string[];
  readonly username?: string;
  readonly conditions?: readonly { readonly type: string; readonly at?: string }[];
  readonly certificate?: string;
  readonly created?: string;
}

function object(traits: Traits = {}): CertificateSigningRequest {
  const {
    subject = NODE,
    signer = `${plat.domain}/${plat.nodeClientSigner}`,
    usages = CLIENT_USAGES,
  } = traits;
  const conditions = (traits.conditions ?? []).map(({ type, at }) => ({
    type,
    status: 'True',
    ...(at === undefined ? {} : { lastUpdateTime: at }),
  }));
  return {
    metadata: { name: 'a', creationTimestamp: traits.created ?? '2026-05-01T00:00:00Z' },
    spec: {
      request: requestData(subject),
      signerName: signer,
      usages: usages as NonNullable<CertificateSigningRequest['spec']['usages']>,
      username: traits.username ?? 'somebody',
    },
    status: { conditions, ...(traits.certificate === undefined ? {} : { certificate: traits.certificate }) },
  };
}

describe('readRequestContent', () => {
  test('reads names of every kind', () => {
    const names = {
      dnsNames: ['a.example.org', 'b'],
      ipAddresses: ['10.0.0.1'],
      emailAddresses: ['a@example.org'],
      uris: ['spiffe://a'],
    };
    const content = contentOf({ ...NODE, ...names, unit: 'u' });
    expect(content).toEqual({
      ...names,
      commonName: 'system:node:a',
      organizations: ['system:nodes'],
      others: [{ oid: '2.5.4.11', value: 'u' }],
      wantsAuthority: false,
    });
    expect(contentOf({ ipAddresses: ['fe80::1'] }).ipAddresses).toEqual(['fe80:0:0:0:0:0:0:1']);
    expect(contentOf({ wantsAuthority: true }).wantsAuthority).toBe(true);
  });

  test.each<[string, RequestTraits]>([
    ['a line break in the name', { commonName: 'a\nO=system:masters' }],
    ['a zero byte in a group', { organizations: ['system:nodes\u0000'] }],
    ['a zero byte in a host', { dnsNames: ['a\u0000b'] }],
    ['a host that is not ASCII', { dnsNames: ['käthe'] }],
  ])('refuses %s', (_, traits) => {
    expect(() => contentOf(traits)).toThrow(expect.objectContaining({ name: 'CertificateRequestError' }));
  });
});

describe('signerKind', () => {
  test.each<Vocabulary>(Object.values(VOCABULARIES))('knows the signers of $name', (vocabulary) => {
    const { domain, apiServerClientSigner, nodeClientSigner, nodeServingSigner } = vocabulary;
    const names = [apiServerClientSigner, nodeClientSigner, nodeServingSigner, 'legacy-unknown', 'other'];
    expect(names.map((name) => signerKind(`${domain}/${name}`, vocabulary))).toEqual([
      'client',
      'node-client',
      'node-serving',
      'legacy',
      undefined,
    ]);
    expect(signerKind(`example.com/${nodeClientSigner}`, vocabulary)).toBeUndefined();
  });
});

describe('signerError', () => {
  const HOST = { ...NODE, dnsNames: ['a'] };
  test.each<[string, SignerKind, RequestTraits, readonly string[], string | undefined]>([
    ['any subject', 'client', { commonName: 'jane', dnsNames: ['a'] }, ['client auth'], undefined],
    ['all three usages', 'client', {}, CLIENT_USAGES, undefined],
    ['no client usage', 'client', {}, ['digital signature'], 'missing required usage'],
    ['a server usage', 'client', {}, SERVING_USAGES, 'invalid usage for client certificate: server auth'],
    ['a node', 'node-client', NODE, CLIENT_USAGES, undefined],
    ['usages in another order', 'node-client', NODE, CLIENT_USAGES.toReversed(), undefined],
    ['no group', 'node-client', { commonName: 'system:node:a' }, CLIENT_USAGES, 'organization'],
    [
      'a further group',
      'node-client',
      { ...NODE, organizations: ['system:nodes', 'system:masters'] },
      CLIENT_USAGES,
      'organization',
    ],
    ['another user', 'node-client', { ...NODE, commonName: 'jane' }, CLIENT_USAGES, 'common name'],
    ['a host', 'node-client', HOST, CLIENT_USAGES, 'DNS subjectAltNames'],
    [
      'an address',
      'node-client',
      { ...NODE, ipAddresses: ['10.0.0.1'] },
      CLIENT_USAGES,
      'IP subjectAltNames',
    ],
    ['an email', 'node-client', { ...NODE, emailAddresses: ['a@b'] }, CLIENT_USAGES, 'email subjectAltNames'],
    ['a URI', 'node-client', { ...NODE, uris: ['a:b'] }, CLIENT_USAGES, 'URI subjectAltNames'],
    ['a usage less', 'node-client', NODE, ['client auth', 'digital signature'], 'usages did not match'],
    ['a usage more', 'node-client', NODE, [...CLIENT_USAGES, 'server auth'], 'usages did not match'],
    ['a serving node', 'node-serving', HOST, SERVING_USAGES, undefined],
    [
      'a serving node by address',
      'node-serving',
      { ...NODE, ipAddresses: ['::1'] },
      SERVING_USAGES,
      undefined,
    ],
    ['no name to serve', 'node-serving', NODE, SERVING_USAGES, 'DNS or IP subjectAltName is required'],
    ['an email to serve', 'node-serving', { ...HOST, emailAddresses: ['a@b'] }, SERVING_USAGES, 'email'],
    ['a URI to serve', 'node-serving', { ...HOST, uris: ['a:b'] }, SERVING_USAGES, 'URI'],
    ['usages of a client', 'node-serving', HOST, CLIENT_USAGES, 'usages did not match'],
    ['another user to serve', 'node-serving', { ...HOST, commonName: 'jane' }, SERVING_USAGES, 'common name'],
    ['anything', 'legacy', { emailAddresses: ['a@b'] }, ['code signing'], undefined],
    ['an authority', 'legacy', { wantsAuthority: true }, [], 'authority is not allowed'],
    [
      'an authority for clients',
      'client',
      { wantsAuthority: true },
      CLIENT_USAGES,
      'authority is not allowed',
    ],
  ])('%s for %s', (_, kind, traits, usages, error) => {
    const found = signerError(kind, contentOf(traits), usages);
    expect(found ?? 'none').toContain(error ?? 'none');
  });
});

describe('decideSigning', () => {
  const approved = [{ type: 'Approved' }];
  test.each<[string, Traits, string]>([
    ['pending', {}, 'leave'],
    ['approved', { conditions: approved }, 'sign'],
    ['denied', { conditions: [{ type: 'Denied' }] }, 'leave'],
    ['failed', { conditions: [...approved, { type: 'Failed' }] }, 'leave'],
    ['signed', { conditions: approved, certificate: 'Zm9v' }, 'leave'],
    ['for another signer', { conditions: approved, signer: 'example.com/a' }, 'leave'],
    ['against the rules', { conditions: approved, usages: ['client auth'] }, 'reject'],
    ['of a bad name', { conditions: approved, subject: { commonName: '\u0000' } }, 'reject'],
  ])('%s', (_, traits, kind) => {
    expect(decideSigning(object(traits), plat).kind).toBe(kind);
  });
});

describe('decideTerm', () => {
  const far = NOW + 10_000 * HOUR;
  test.each<[string, number | undefined, number, number, number]>([
    ['the longest by default', undefined, 100 * HOUR, far, 100 * HOUR - 5 * MINUTE],
    ['less on request', 36_000, 100 * HOUR, far, 10 * HOUR - 5 * MINUTE],
    ['never more', 999_999, 10 * HOUR, far, 10 * HOUR - 5 * MINUTE],
    ['short ones whole', 3600, 100 * HOUR, far, HOUR],
    ['ten minutes at least', 1, 100 * HOUR, far, 10 * MINUTE],
    ['not longer than its authority', undefined, 100 * HOUR, NOW + HOUR, HOUR],
  ])('%s', (_, expirationSeconds, longestMs, authorityEndMs, expected) => {
    const { notBefore, notAfter } = decideTerm({ nowMs: NOW, expirationSeconds, longestMs, authorityEndMs });
    expect(notBefore.getTime()).toBe(NOW - 5 * MINUTE);
    expect(notAfter.getTime() - NOW).toBe(expected);
  });
});

describe('approvalRights', () => {
  test.each<[string, Traits, readonly string[]]>([
    ['of a user', {}, ['nodeclient']],
    ['of the node itself', { username: 'system:node:a' }, ['selfnodeclient', 'nodeclient']],
    ['of another node', { username: 'system:node:b' }, ['nodeclient']],
    ['to serve', { signer: `${plat.domain}/${plat.nodeServingSigner}` }, []],
    ['decided', { conditions: [{ type: 'Denied' }] }, []],
    ['against the rules', { usages: ['client auth'] }, []],
    ['of a bad name', { subject: { commonName: '\u0000' } }, []],
  ])('%s', (_, traits, rights) => {
    expect(approvalRights(object(traits), plat)).toEqual(rights);
  });
});

describe('removalTime', () => {
  const ca = createAuthority({ commonName: 'ca' }, new Date(NOW), new Date(NOW + HOUR / 2));
  const certificate = Buffer.from(ca.certificate).toString('base64');
  const at = '2026-05-01T02:00:00Z';
  test.each<[string, Traits, number]>([
    ['pending', {}, 24 * HOUR],
    ['approved', { conditions: [{ type: 'Approved', at }] }, 3 * HOUR],
    ['denied', { conditions: [{ type: 'Denied', at }] }, 3 * HOUR],
    [
      'failed after approval',
      {
        conditions: [
          { type: 'Approved', at: '2026-05-01T01:00:00Z' },
          { type: 'Failed', at },
        ],
      },
      3 * HOUR,
    ],
    ['with a certificate that ran out', { conditions: [{ type: 'Approved', at }], certificate }, HOUR / 2],
    [
      'with text that is no certificate',
      { conditions: [{ type: 'Approved', at }], certificate: 'Zm9v' },
      3 * HOUR,
    ],
  ])('%s', (_, traits, expected) => {
    expect(removalTime(object(traits)) - NOW).toBe(expected);
  });
});

describe('signRequest', () => {
  const ca = createAuthority({ commonName: 'ca' }, new Date(NOW), new Date(NOW + 1000 * HOUR));
  const options = { authority: ca, longestMs: 10 * HOUR };
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

  async function signed(traits: RequestTraits, usages: readonly string[]): Promise<X509Certificate> {
    const request = parseCertificateRequest(makeRequest(traits));
    const order = { request, content: readRequestContent(request), usages, expirationSeconds: undefined };
    return new X509Certificate(await signRequest(options, order, NOW));
  }

  test.each([
    ['P-256', createKey()],
    ['RSA', rsa],
  ])('certifies a key of %s', async (_, key) => {
    const certificate = await signed(
      { ...NODE, dnsNames: ['a'], ipAddresses: ['fe80::1'], key },
      SERVING_USAGES,
    );
    expect(certificate.checkPrivateKey(key)).toBe(true);
    expect(certificate.verify(createPublicKey(createPrivateKey(ca.key)))).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.subject.split('\n')).toEqual(['O=system:nodes', 'CN=system:node:a']);
    expect(certificate.checkIP('fe80::1')).toBe('fe80::1');
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
  });

  test('retains names of every kind, and an empty subject', async () => {
    const certificate = await signed({ emailAddresses: ['a@b'], uris: ['a:b'] }, [
      'signing',
      'decipher only',
      'any',
    ]);
    // Node returns no text for an empty subject.
    expect(certificate.subject ?? '').toBe('');
    expect(certificate.subjectAltName).toBe('email:a@b, URI:a:b');
    expect(certificate.keyUsage).toEqual(['2.5.29.37.0']);
  });

  test('signs nothing after the expiry of the CA', async () => {
    const request = parseCertificateRequest(makeRequest(NODE));
    const order = { request, content: readRequestContent(request), usages: [], expirationSeconds: undefined };
    await expect(signRequest(options, order, NOW + 1000 * HOUR)).rejects.toThrow('has expired');
  });
});
