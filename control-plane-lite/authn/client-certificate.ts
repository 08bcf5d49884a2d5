/** Client certificates signed by a CA that the server trusts: the common name is the user, organizations are groups.
 *  Source: document 2, 2.5 (subject fields); upstream's x509 authenticator. */
import { X509Certificate } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { AuthenticationResult, Authenticator } from './contract.ts';

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';
const MAX_CHAIN = 6;

/** The certificates of a PEM bundle. @throws Error if a block is no certificate */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  return parsePem(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ der }) => new X509Certificate(der));
}

const isValidAt = (certificate: X509Certificate, nowMs: number): boolean =>
  nowMs >= Date.parse(certificate.validFrom) && nowMs <= Date.parse(certificate.validTo);

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

/** Whether a chain leads from the certificate to a trusted one, everything on it being valid now. */
export function isTrusted(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  nowMs: number,
): boolean {
  let current = certificate;
  for (let depth = 0; depth < MAX_CHAIN; depth += 1) {
    if (!isValidAt(current, nowMs)) return false;
    const below = current;
    if (roots.some((root) => isIssuedBy(below, root) && isValidAt(root, nowMs))) return true;
    const next = intermediates.find((candidate) => candidate !== below && isIssuedBy(below, candidate));
    if (next === undefined) return false;
    current = next;
  }
  return false;
}

/** A certificate without extended usages may be used for anything. */
function mayAuthenticateClients({ keyUsage }: X509Certificate): boolean {
  // Node types the list as always there; it is undefined without the extension.
  const usages: readonly string[] | undefined = keyUsage;
  return usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE);
}

const texts = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** The user of a certificate; none without a common name. */
export function userOf(certificate: X509Certificate): UserInfo | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a repeated attribute is a list, which Node's types leave out
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<
    Record<string, string | readonly string[] | undefined>
  >;
  const [name = ''] = texts(subject['CN']);
  return name === '' ? undefined : { name, groups: texts(subject['O']), extra: {} };
}

/** `roots` is asked at every look, so that a bundle may be replaced. */
export function createClientCertificateAuthenticator(deps: {
  readonly roots: () => readonly X509Certificate[];
  readonly clock: Clock;
}): Authenticator {
  /** A connection shows the same certificate with every request: its chain is checked once. */
  const known = new WeakMap<
    X509Certificate,
    { readonly roots: readonly X509Certificate[]; readonly untilMs: number; readonly user: UserInfo }
  >();
  return {
    name: 'x509',
    authenticate({ certificate, intermediates }): AuthenticationResult {
      if (certificate === undefined) return { kind: 'none' };
      const nowMs = deps.clock.now();
      const roots = deps.roots();
      const before = known.get(certificate);
      if (before !== undefined && before.roots === roots && nowMs <= before.untilMs)
        return { kind: 'user', user: before.user };
      if (!isTrusted(certificate, intermediates, roots, nowMs)) {
        return {
          kind: 'rejected',
          message: 'the client certificate is not signed by a CA that is trusted, or is not valid now',
        };
      }
      if (!mayAuthenticateClients(certificate)) {
        return { kind: 'rejected', message: 'the client certificate is not for clients' };
      }
      const user = userOf(certificate);
      if (user === undefined) return { kind: 'none' };
      const untilMs = Math.min(
        ...[certificate, ...intermediates, ...roots].map(({ validTo }) => Date.parse(validTo)),
      );
      known.set(certificate, { roots, untilMs, user });
      return { kind: 'user', user };
    },
  };
}
