import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  formatIp,
  formatIpRange,
  ipFamilyOf,
  nonSpecialIpErrors,
  parseIp,
  parseIpRange,
  rangeContains,
} from './ip.ts';

describe('parseIp and formatIp', () => {
  test.each([
    ['10.0.0.1', '10.0.0.1'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['::1', '::1'],
    ['fd00::', 'fd00::'],
    ['FD00:0:0:1:0:0:0:1', 'fd00:0:0:1::1'],
    ['1:0:2:0:3:0:4:0', '1:0:2:0:3:0:4:0'],
    ['::ffff:10.0.0.1', '::ffff:a00:1'],
    ['2001:db8::8:800:200c:417a', '2001:db8::8:800:200c:417a'],
  ])('reads %s and writes %s', (text, written) => {
    const ip = parseIp(text);
    expect(ip === undefined ? '' : formatIp(ip)).toBe(written);
  });

  test.each(['', 'x', '10.0.0', '10.0.0.256', '010.0.0.1', '1.2.3.4/8', 'fe80::1%eth0', ':::'])(
    'rejects address %j',
    (text) => {
      expect(parseIp(text)).toBeUndefined();
      expect(ipFamilyOf(text)).toBeUndefined();
    },
  );

  test('parse their own output', () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        const ip = parseIp(text);
        expect(ip?.family).toBe(ipFamilyOf(text));
        expect(ip === undefined ? undefined : parseIp(formatIp(ip))).toEqual(ip);
      }),
    );
  });
});

describe('ranges', () => {
  test.each([
    ['10.1.2.3/24', '10.1.2.0/24', 256n],
    ['10.0.0.0/32', '10.0.0.0/32', 1n],
    ['0.0.0.0/0', '0.0.0.0/0', 2n ** 32n],
    ['fd00:1::/112', 'fd00:1::/112', 65_536n],
  ])('reads %s as %s with %d addresses', (text, written, size) => {
    const range = parseIpRange(text);
    expect(range === undefined ? '' : formatIpRange(range)).toBe(written);
    expect(range?.size).toBe(size);
  });

  test.each(['10.0.0.0', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', 'x/8', '10.0.0.0/-1', 'fd00::/129'])(
    'rejects range %j',
    (text) => {
      expect(parseIpRange(text)).toBeUndefined();
    },
  );

  test.each([
    ['10.0.0.0/24', '10.0.0.255', true],
    ['10.0.0.0/24', '10.0.1.0', false],
    ['::/0', '10.0.0.1', false],
  ])('%s contains %s: %s', (range, text, inside) => {
    const [parsed, ip] = [parseIpRange(range), parseIp(text)];
    expect(parsed !== undefined && ip !== undefined && rangeContains(parsed, ip)).toBe(inside);
  });
});

describe('nonSpecialIpErrors', () => {
  test.each([
    ['10.0.0.1', /^$/],
    ['2001:db8::1', /^$/],
    ['x', /valid IP/],
    ['0.0.0.0', /unspecified/],
    ['::', /unspecified/],
    ['127.1.2.3', /loopback/],
    ['::1', /loopback/],
    ['169.254.169.254', /link-local range/],
    ['fe80::1', /link-local range/],
    ['224.0.0.5', /multicast/],
    ['ff02::1', /multicast/],
  ])('of %s', (text, error) => {
    expect(nonSpecialIpErrors(text).join(';')).toMatch(error);
  });
});
