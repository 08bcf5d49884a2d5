/** Certificates of the tests: authorities, servers on loopback and clients. */
import { createAuthority, type Identity, issueIdentity } from '#api/pki/certificate.ts';

const DAY_MS = 86_400_000;
const term = () => ({
  notBefore: new Date(Date.now() - DAY_MS),
  notAfter: new Date(Date.now() + DAY_MS),
});

export function authority(commonName: string): Identity {
  const { notBefore, notAfter } = term();
  return createAuthority({ commonName }, notBefore, notAfter);
}

export const serverOf = (by: Identity): Identity =>
  issueIdentity(by, {
    subject: { commonName: 'server' },
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    extendedUsages: ['serverAuth'],
    ...term(),
  });

export const clientOf = (by: Identity, commonName: string): Identity =>
  issueIdentity(by, { subject: { commonName }, extendedUsages: ['clientAuth'], ...term() });
