/** When a certificate is renewed. Pure. Source: upstream's certificate manager (70 to 90 % of the time it is valid). */
import { createHash, type X509Certificate } from 'node:crypto';

const EARLIEST = 0.7;
const SPREAD = 0.2;

/** From when to when a certificate is valid, in ms since the epoch. */
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

/** Where in the spread a certificate lies, 0 to 1: by chance among certificates, yet the same for one whenever it is
 *  asked, so that restarts of the agent put nothing off. */
export function shareOf(certificate: Pick<X509Certificate, 'raw'>): number {
  return createHash('sha256').update(certificate.raw).digest().readUInt32BE(0) / 2 ** 32;
}

/** Between 70 and 90 % of the whole time, in ms since the epoch.
 *  @param share 0 to 1 */
export function rotationTime({ fromMs, untilMs }: Validity, share: number): number {
  return fromMs + (untilMs - fromMs) * (EARLIEST + SPREAD * share);
}
