import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createKey } from './certificate.ts';
import { makeCertificateRequest } from './certificate-request.ts';

const read = (pem: string): string =>
  execFileSync('openssl', ['req', '-noout', '-text', '-verify', '-nameopt', 'RFC2253'], {
    input: pem,
    stdio: ['pipe', 'pipe', 'pipe'],
  }).toString();

describe('makeCertificateRequest', () => {
  test.each([
    ['P-256', () => createKey(), 'ecdsa-with-SHA256'],
    ['RSA', () => generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, 'sha256WithRSAEncryption'],
  ])('is what others read and verify, with a key of %s', (_, make, algorithm) => {
    const text = read(
      makeCertificateRequest(
        {
          subject: { commonName: 'system:node:n1', organizations: ['system:nodes'] },
          dnsNames: ['n1'],
          ipAddresses: ['10.0.0.1', 'fd00::1'],
        },
        make(),
      ),
    );
    expect(text).toContain('Subject: CN=system:node:n1,O=system:nodes');
    expect(text).toContain('DNS:n1, IP Address:10.0.0.1, IP Address:FD00:0:0:0:0:0:0:1');
    expect(text).toContain(`Signature Algorithm: ${algorithm}`);
  });

  test('has no extensions without further names', () => {
    const text = read(makeCertificateRequest({ subject: { commonName: 'n1' } }, createKey()));
    expect(text).not.toContain('Alternative Name');
  });
});
