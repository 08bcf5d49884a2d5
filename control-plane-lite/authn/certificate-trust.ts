/** Caches whether client certificates are trusted. A connection shows the same certificate object with every
 *  request, so its chain is verified once. */
import type { X509Certificate } from 'node:crypto';
import type { Clock } from '#api/kit/clock.ts';
import { isTrusted } from './client-certificate.ts';

/** Reports whether a chain leads from the certificate to a trusted one. */
export type CertificateTrust = (
  certificate: X509Certificate,
  intermediates: readonly X509Certificate[],
) => boolean;

interface Verdict {
  readonly roots: readonly X509Certificate[];
  readonly trusted: boolean;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** An untrusted certificate may become valid, so it is verified again after this time. */
const UNTRUSTED_MS = 10_000;

/** @param deps.roots read for each request, so that a bundle can be replaced */
export function createCertificateTrust(deps: {
  readonly roots: () => readonly X509Certificate[];
  readonly clock: Clock;
}): CertificateTrust {
  const known = new WeakMap<X509Certificate, Verdict>();
  return (certificate, intermediates) => {
    const nowMs = deps.clock.now();
    const roots = deps.roots();
    const before = known.get(certificate);
    if (before?.roots === roots && nowMs >= before.sinceMs && nowMs <= before.untilMs) return before.trusted;
    const trusted = isTrusted(certificate, intermediates, roots, nowMs);
    const ends = [certificate, ...intermediates, ...roots].map(({ validTo }) => Date.parse(validTo));
    const untilMs = trusted ? Math.min(...ends) : nowMs + UNTRUSTED_MS;
    known.set(certificate, { roots, trusted, sinceMs: nowMs, untilMs });
    return trusted;
  };
}
