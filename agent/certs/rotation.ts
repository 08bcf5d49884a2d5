/** Computes the time of renewal. Pure. Source: upstream's certificate manager (70 to 90 % of the lifetime). */
import { createHash, type X509Certificate } from 'node:crypto';

const EARLIEST = 0.7;
const SPREAD = 0.2;

/** Validity of a certificate, in ms since the epoch. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

export function validityOf(certificate: X509Certificate): Validity {
  return { fromMs: Date.parse(certificate.validFrom), untilMs: Date.parse(certificate.validTo) };
}

export function isExpired(certificate: X509Certificate, nowMs: number): boolean {
  return validityOf(certificate).untilMs <= nowMs;
}

/** Position of a certificate within the jitter, 0 to 1: random among certificates but constant for each, so
 *  that restarts of the agent do not postpone the renewal. */
export function shareOf(certificate: Pick<X509Certificate, 'raw'>): number {
  return createHash('sha256').update(certificate.raw).digest().readUInt32BE(0) / 2 ** 32;
}

/** Returns a time between 70 and 90 % of the lifetime, in ms since the epoch.
 *  @param share 0 to 1 */
export function rotationTime({ fromMs, untilMs }: Validity, share: number): number {
  return fromMs + (untilMs - fromMs) * (EARLIEST + SPREAD * share);
}
