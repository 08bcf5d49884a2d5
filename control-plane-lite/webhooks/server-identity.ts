/** Checks that a webhook's certificate is valid for its name. Unlike Node, it has to be in a subject alternative name:
 *  the common name does not count, as upstream. */
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { MetricsRegistry } from '#api/kit/metrics.ts';

/** Returns why the certificate is not valid for the host. */
export type CheckIdentity = (host: string, certificate: PeerCertificate) => Error | undefined;

/** @param onMissing called for each certificate without subject alternative names */
const createIdentityCheck =
  (onMissing: () => void): CheckIdentity =>
  (host, certificate) => {
    if (certificate.subjectaltname !== undefined) return checkServerIdentity(host, certificate);
    onMissing();
    return new Error('x509: certificate relies on legacy Common Name field, use SANs instead');
  };

/** Counts the certificates that it rejects, under upstream's name. */
export function createCountingIdentityCheck(registry: MetricsRegistry): CheckIdentity {
  const missing = registry
    .counter({
      name: 'apiserver_webhooks_x509_missing_san_total',
      help: 'Certificates of webhooks without subject alternative names.',
    })
    .with();
  return createIdentityCheck(() => missing.inc());
}
