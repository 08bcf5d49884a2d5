import { X509Certificate } from 'node:crypto';
import type { PeerCertificate } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { createCountingIdentityCheck } from './server-identity.ts';

const NAME = 'hook.ns.svc';
const [from, until] = [new Date(0), new Date('2100-01-01')];
const authority = createAuthority({ commonName: 'ca' }, from, until);

function certificateOf(dnsNames: readonly string[]): PeerCertificate {
  const subject = { commonName: NAME };
  const { certificate } = issueIdentity(authority, {
    subject,
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: until,
    ...(dnsNames.length === 0 ? {} : { dnsNames }),
  });
  return new X509Certificate(certificate).toLegacyObject();
}

describe('certificates of webhooks', () => {
  test.each<[string, readonly string[], RegExp, number]>([
    ['with the name', [NAME], /^valid$/, 0],
    ['with another name', ['other.ns.svc'], /does not match/, 0],
    ['with the name in the common name only', [], /legacy Common Name field, use SANs/, 1],
  ])('%s', (_, names, expected, count) => {
    const registry = createMetricsRegistry();
    const error = createCountingIdentityCheck(registry)(NAME, certificateOf(names));
    expect(error?.message ?? 'valid').toMatch(expected);
    expect(registry.text()).toContain(`apiserver_webhooks_x509_missing_san_total ${count}`);
  });
});
