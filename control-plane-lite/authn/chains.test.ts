/** Trust in certificate chains: one change in one place of chains of every length, and the expected
 *  result. */
import { describe, expect, test } from 'vitest';
import { allChains, certificatesOf, parsed } from './chains.fixture.ts';
import { isTrusted, userOf } from './client-certificate.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');

describe('chains of client certificates', () => {
  test.each(allChains())('$what: $good', (chain) => {
    const [root, ...rest] = parsed(certificatesOf(chain, NOW));
    const end = rest.pop();
    if (root === undefined || end === undefined) throw new Error('a chain has two ends');
    expect(isTrusted(end, rest, [root], NOW)).toBe(chain.good);
    // In whatever order they are shown.
    expect(isTrusted(end, rest.toReversed(), [root], NOW)).toBe(chain.good);
  });

  test('go another way where one is closed', () => {
    const CA = { ca: true, keyUsage: 'certSign' } as const;
    const END = { ca: false, usages: ['clientAuth'] } as const;
    const [root, open, end] = parsed(certificatesOf({ says: [CA, CA, END] }, NOW));
    const [, closed] = parsed(certificatesOf({ says: [CA, { ...CA, usages: ['serverAuth'] }, END] }, NOW));
    if (root === undefined || open === undefined || closed === undefined || end === undefined)
      throw new Error('a certificate is missing');
    // Both have the same name and key.
    expect(isTrusted(end, [closed], [root], NOW)).toBe(false);
    expect(isTrusted(end, [closed, open], [root], NOW)).toBe(true);
    expect(isTrusted(end, [open, closed], [root], NOW)).toBe(true);
  });

  test('end in time, however many ways there are', () => {
    const CA = { ca: true, keyUsage: 'certSign' } as const;
    const many = Array.from({ length: 40 }, () => certificatesOf({ says: [CA, CA, CA, CA, CA, {}] }, NOW));
    const [, ...rest] = parsed(many[0] ?? []);
    const end = rest.at(-1);
    const others = many.flatMap((chain) => parsed(chain).slice(1, -1));
    const [unusual] = parsed(certificatesOf({ says: [{ ...CA, strange: 'not critical' }] }, NOW));
    if (end === undefined || unusual === undefined) throw new Error('a certificate is missing');
    const begun = performance.now();
    expect(isTrusted(end, others, [], NOW)).toBe(false);
    expect(performance.now() - begun).toBeLessThan(1000);
    expect(userOf(end)).toMatchObject({ name: 'system:ann', groups: ['system:masters'] });
  });
});
