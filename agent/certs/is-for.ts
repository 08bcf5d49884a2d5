/** Reports whether a certificate covers all required names. Pure. */
import type { X509Certificate } from 'node:crypto';
import type { ServingNames } from './tls-source.ts';

export function isFor(certificate: X509Certificate, { dnsNames, ipAddresses }: ServingNames): boolean {
  return (
    dnsNames.every((name) => certificate.checkHost(name, { subject: 'never' }) !== undefined) &&
    ipAddresses.every((address) => certificate.checkIP(address) !== undefined)
  );
}
