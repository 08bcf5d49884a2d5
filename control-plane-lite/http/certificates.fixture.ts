/** Certificates for tests of the server: a CA and the certificates that it signs. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import forge from 'node-forge';

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority extends TestCertificate {
  /** With `ca` it may sign others. */
  issue(commonName: string, options?: { readonly ca?: boolean }): TestAuthority;
}

const DAY_MS = 86_400_000;

function newKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs1', format: 'pem' });
}

interface Issuer {
  readonly name: string;
  readonly key: string;
}

function makeCertificate(name: string, key: string, issuer: Issuer, isCa: boolean): string {
  const { pki } = forge;
  const privateKey = pki.privateKeyFromPem(key);
  const certificate = pki.createCertificate();
  certificate.publicKey = pki.rsa.setPublicKey(privateKey.n, privateKey.e);
  certificate.serialNumber = `01${randomBytes(8).toString('hex')}`;
  certificate.validity.notBefore = new Date(Date.now() - DAY_MS);
  certificate.validity.notAfter = new Date(Date.now() + DAY_MS);
  certificate.setSubject([{ name: 'commonName', value: name }]);
  certificate.setIssuer([{ name: 'commonName', value: issuer.name }]);
  const altNames = [
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ];
  certificate.setExtensions([
    { name: 'basicConstraints', cA: isCa },
    ...(isCa ? [] : [{ name: 'subjectAltName', altNames }]),
  ]);
  certificate.sign(pki.privateKeyFromPem(issuer.key), forge.md.sha256.create());
  return pki.certificateToPem(certificate);
}

function authority(name: string, key: string, cert: string): TestAuthority {
  return {
    cert,
    key,
    issue(commonName, { ca = false } = {}) {
      const ownKey = newKey();
      return authority(commonName, ownKey, makeCertificate(commonName, ownKey, { name, key }, ca));
    },
  };
}

export function createTestAuthority(name = 'test-ca'): TestAuthority {
  const key = newKey();
  return authority(name, key, makeCertificate(name, key, { name, key }, true));
}
