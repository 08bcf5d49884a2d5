/** Client certificates with random damage: nothing but the intact chain is trusted, and nothing throws. */
import { X509Certificate } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createAuthority, crossSign, type Identity, issueIdentity } from '#api/pki/certificate.ts';
import { formatPem } from '#api/pki/pem.ts';
import { ofRound } from '../../testing/rounds.ts';
import { isTrusted, parseCertificates, userOf } from './client-certificate.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const TERM = { notBefore: new Date(NOW - 60_000), notAfter: new Date(NOW + 3_600_000) };
const authority = (commonName: string): Identity =>
  createAuthority({ commonName }, TERM.notBefore, TERM.notAfter);
const [root, middle] = [authority('root'), authority('middle')];
const leaf = issueIdentity(middle, {
  subject: { commonName: 'ann', organizations: ['devs'] },
  extendedUsages: ['clientAuth'],
  ...TERM,
});
const x509 = (pem: string): X509Certificate => new X509Certificate(pem);
const roots = [x509(root.certificate)];
const between = x509(crossSign(root, middle.certificate, ['clientAuth']));
const end = x509(leaf.certificate);

/** One to four bytes that differ, or a changed length. */
const damage = fc.oneof(
  fc.record({
    kind: fc.constant('bytes' as const),
    at: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
  }),
);
type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;

function damaged(raw: Buffer, how: Damage): Buffer {
  switch (how.kind) {
    case 'cut':
      return raw.subarray(0, how.at % raw.length);
    case 'insert': {
      const at = how.at % raw.length;
      return Buffer.concat([raw.subarray(0, at), how.bytes, raw.subarray(at)]);
    }
    case 'bytes': {
      const copy = Buffer.from(raw);
      for (const [at, mask] of how.at) copy[at % copy.length] = (copy[at % copy.length] ?? 0) ^ mask;
      return copy;
    }
    default:
      return how satisfies never;
  }
}

/** `undefined`: not even a certificate. */
function read(raw: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(raw);
  } catch {
    return undefined;
  }
}

/** `undefined`: the bundle is rejected. */
function certificatesIn(bundle: string): number | undefined {
  try {
    return parseCertificates(bundle).length;
  } catch (thrown) {
    if (thrown instanceof Error) return undefined;
    throw thrown;
  }
}

const RUNS = { numRuns: ofRound({ short: 2000, long: 200_000 }) };

describe('damaged certificates', () => {
  test('the intact chain is trusted', () => {
    expect(isTrusted(end, [between], roots, NOW)).toBe(true);
    expect(userOf(end)).toEqual({ name: 'ann', groups: ['devs'], extra: {} });
  });

  test.each([
    ['end', end, (found: X509Certificate) => isTrusted(found, [between], roots, NOW)],
    ['middle', between, (found: X509Certificate) => isTrusted(end, [found], roots, NOW)],
  ])('of the %s are not trusted', (_, certificate, judge) => {
    fc.assert(
      fc.property(damage, (how) => {
        const raw = damaged(certificate.raw, how);
        const found = raw.equals(certificate.raw) ? undefined : read(raw);
        if (found === undefined || found.raw.equals(certificate.raw)) return;
        expect(judge(found)).toBe(false);
        expect(() => userOf(found)).not.toThrow();
      }),
      RUNS,
    );
  });

  test('in a bundle are errors, or certificates', () => {
    fc.assert(
      fc.property(damage, (how) => {
        const bundle = formatPem('CERTIFICATE', damaged(end.raw, how)) + root.certificate;
        expect(certificatesIn(bundle)).not.toBe(0);
      }),
      RUNS,
    );
  });
});
