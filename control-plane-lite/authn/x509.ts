/** Authenticates client certificates signed by a CA that the server trusts. Source: upstream's x509
 *  authenticator. */
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import type { UserInfo } from '../resources/contract.ts';
import { createCertificateTrust } from './certificate-trust.ts';
import { userOf } from './client-certificate.ts';
import { type Authenticator, NOT_APPLICABLE, rejected } from './contract.ts';

const UNTRUSTED = rejected(
  'the client certificate is not signed by a trusted CA, is expired or not yet valid, does not allow client authentication, or violates a constraint of a CA above it',
);

interface Known {
  readonly user: UserInfo | undefined;
  readonly endMs: number;
}

export interface CertificateAuthenticatorDeps {
  /** Read for each request, so that a bundle can be replaced. */
  readonly roots: () => readonly X509Certificate[];
  readonly clock: Clock;
  /** Called for each request with a certificate. */
  readonly observeLifetime?: (remainingSeconds: number) => void;
}

export function createCertificateAuthenticator(deps: CertificateAuthenticatorDeps): Authenticator {
  const isTrusted = createCertificateTrust(deps);
  const known = new WeakMap<X509Certificate, Known>();

  function read(certificate: X509Certificate): Known {
    const before = known.get(certificate);
    if (before !== undefined) return before;
    const found = { user: userOf(certificate), endMs: Date.parse(certificate.validTo) };
    known.set(certificate, found);
    return found;
  }

  return {
    name: 'x509',
    authenticate({ certificate, intermediates }) {
      if (certificate === undefined) return NOT_APPLICABLE;
      const { user, endMs } = read(certificate);
      deps.observeLifetime?.((endMs - deps.clock.now()) / 1000);
      if (!isTrusted(certificate, intermediates)) return UNTRUSTED;
      return user === undefined ? NOT_APPLICABLE : { kind: 'user', user };
    },
  };
}
