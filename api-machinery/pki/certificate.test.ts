import { createPrivateKey, createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { addressBytes, createAuthority, issueCertificate, issueIdentity } from './certificate.ts';

const FROM = new Date('2026-01-01T00:00:00Z');
const TO = new Date('2036-01-01T00:00:00Z');
const ca = createAuthority({ commonName: 'test-ca' }, FROM, TO);

describe('createAuthority', () => {
  test('creates a certificate that may sign others', () => {
    const certificate = new X509Certificate(ca.certificate);
    expect(certificate.ca).toBe(true);
    expect(certificate.subject).toBe('CN=test-ca');
    expect(certificate.verify(createPublicKey(createPrivateKey(ca.key)))).toBe(true);
    expect(new Date(certificate.validTo)).toEqual(TO);
  });
});

describe('issueIdentity', () => {
  const identity = issueIdentity(ca, {
    subject: { commonName: 'käthe', organizations: ['system:masters', 'b'] },
    dnsNames: ['localhost', '*.example.org'],
    ipAddresses: ['127.0.0.1', 'fe80::1'],
    extendedUsages: ['serverAuth', 'clientAuth'],
    notBefore: FROM,
    notAfter: TO,
  });
  const certificate = new X509Certificate(identity.certificate);

  test('is signed by its authority', () => {
    const authority = new X509Certificate(ca.certificate);
    expect(certificate.checkIssued(authority)).toBe(true);
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(certificate.ca).toBe(false);
    expect(certificate.checkPrivateKey(createPrivateKey(identity.key))).toBe(true);
  });

  test('has the requested subject, names and usages', () => {
    expect(certificate.subject.split('\n')).toEqual(['O=system:masters', 'O=b', 'CN=käthe']);
    expect(certificate.checkHost('localhost')).toBe('localhost');
    expect(certificate.checkHost('a.example.org')).toBeDefined();
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(certificate.checkIP('fe80::1')).toBe('fe80::1');
    expect(certificate.checkIP('127.0.0.2')).toBeUndefined();
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  });

  test('is accepted by TLS', async () => {
    const server = createServer({ cert: identity.certificate, key: identity.key }, (socket) =>
      socket.end('hello'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const text = await new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', ca: ca.certificate });
      socket.on('error', reject);
      socket.on('data', (data: Buffer) => resolve(data.toString()));
    });
    server.close();
    expect(text).toBe('hello');
  });

  test('may contain an RSA key of the client', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = issueCertificate(ca, {
      subject: { commonName: 'r' },
      publicKey,
      notBefore: FROM,
      notAfter: TO,
    });
    expect(new X509Certificate(pem).publicKey.asymmetricKeyType).toBe('rsa');
  });

  test('has a unique serial number', () => {
    const again = issueIdentity(ca, { subject: { commonName: 'x' }, notBefore: FROM, notAfter: TO });
    expect(new X509Certificate(again.certificate).serialNumber).not.toBe(certificate.serialNumber);
  });
});

describe('addressBytes', () => {
  test.each([
    ['10.0.0.1', [10, 0, 0, 1]],
    ['::1', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
    ['2001:db8::8:0:1', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 1]],
  ])('%s', (text, bytes) => {
    expect([...addressBytes(text)]).toEqual(bytes);
  });
  test.each(['x', '1:2', '1:2:3:4:5:6:7:8:9', ''])('rejects %s', (text) => {
    expect(() => addressBytes(text)).toThrow(/not an IP address/);
  });
});
