import { getCiphers } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { opensslSuite } from './suite-names.ts';

describe('opensslSuite', () => {
  test.each([
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305', 'ECDHE-ECDSA-CHACHA20-POLY1305'],
    ['TLS_RSA_WITH_AES_128_CBC_SHA', 'AES128-SHA'],
    ['TLS_AES_128_GCM_SHA256', 'TLS_AES_128_GCM_SHA256'],
  ])('%s is a known suite', (name, expected) => {
    const suite = opensslSuite(name);
    expect(suite).toBe(expected);
    expect(getCiphers()).toContain(suite?.toLowerCase());
  });

  test.each(['TLS_ECDHE_RSA_WITH_NULL_SHA', 'ECDHE-RSA-AES128-SHA', ''])('%s is none', (name) => {
    expect(opensslSuite(name)).toBeUndefined();
  });
});
