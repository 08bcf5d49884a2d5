/** Trust in client certificates, and the user that one names: the common name is the user, organizations are groups.
 *  Pure. Source: subject fields, document 2 §2.5; upstream's x509 authenticator. */
import { X509Certificate } from 'node:crypto';
import { parsePem } from '#api/pki/pem.ts';
import type { UserInfo } from '../resources/contract.ts';
import { type CertificateLimits, CertificateLimitsError, limitsOf } from './certificate-limits.ts';
import { keepsConstraints } from './name-constraints.ts';

const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ANY_USAGE = '2.5.29.37.0';
const MAX_CHAIN = 6;
/** Maximum number of issuer look-ups: a crafted chain can have many paths. */
const MAX_STEPS = 100;

/** Returns the certificates of a PEM bundle. @throws Error if a block is not a certificate */
export function parseCertificates(pem: string): readonly X509Certificate[] {
  return parsePem(pem)
    .filter(({ label }) => label === 'CERTIFICATE')
    .map(({ der }) => new X509Certificate(der));
}

const isValidAt = (certificate: X509Certificate, nowMs: number): boolean =>
  nowMs >= Date.parse(certificate.validFrom) && nowMs <= Date.parse(certificate.validTo);

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

/** A certificate without extended usages may be used for anything. */
const isForClients = ({ usages }: CertificateLimits): boolean =>
  usages === undefined || usages.includes(CLIENT_AUTH) || usages.includes(ANY_USAGE);

/** Reports whether a CA allows the certificates below it.
 *  @param below CAs between it and the end of the chain */
function allows(authority: CertificateLimits, end: CertificateLimits, below: number): boolean {
  const { isCa, mayCertify = true, pathLength = Number.POSITIVE_INFINITY, constraints } = authority;
  return (
    isCa === true &&
    mayCertify &&
    below <= pathLength &&
    isForClients(authority) &&
    (constraints === undefined || keepsConstraints(end.names, constraints))
  );
}

/** Returns the constraints of a certificate on its chains; `undefined` if it cannot be part of any. */
function readable(certificate: X509Certificate): CertificateLimits | undefined {
  try {
    return limitsOf(certificate);
  } catch (thrown) {
    if (thrown instanceof CertificateLimitsError) return undefined;
    throw thrown;
  }
}

/** Whether a chain leads from the certificate to a trusted one, everything on it being valid now, for clients, and within
 *  the constraints of the certificates above it. */
export function isTrusted(
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
  roots: readonly X509Certificate[],
  nowMs: number,
): boolean {
  const end = readable(certificate);
  if (end === undefined || !isForClients(end) || !isValidAt(certificate, nowMs)) return false;
  let steps = 0;

  function mayStandAbove(authority: X509Certificate, below: number): boolean {
    if (!isValidAt(authority, nowMs)) return false;
    const limits = readable(authority);
    return limits !== undefined && end !== undefined && allows(limits, end, below);
  }

  /** Depth first. `path` contains the certificates below, leaf first. */
  function leads(current: X509Certificate, path: readonly X509Certificate[]): boolean {
    const below = path.length;
    for (const root of roots) if (isIssuedBy(current, root) && mayStandAbove(root, below)) return true;
    if (below >= MAX_CHAIN) return false;
    return intermediates.some((candidate) => {
      steps += 1;
      if (steps > MAX_STEPS || candidate === current || path.includes(candidate)) return false;
      if (!isIssuedBy(current, candidate) || !mayStandAbove(candidate, below)) return false;
      return leads(candidate, [...path, current]);
    });
  }
  return leads(certificate, []);
}

const texts = (value: string | readonly string[] | undefined): readonly string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value;

/** Returns the user of a certificate: its last common name, as upstream; none without one. */
export function userOf(certificate: X509Certificate): UserInfo | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a repeated attribute is a list, which Node's types leave out
  const subject = certificate.toLegacyObject().subject as unknown as Readonly<
    Record<string, string | readonly string[] | undefined>
  >;
  const name = texts(subject['CN']).at(-1) ?? '';
  return name === '' ? undefined : { name, groups: texts(subject['O']), extra: {} };
}
