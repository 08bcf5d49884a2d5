import { describe, expect, test } from 'vitest';
import { createAuthority } from '#api/pki/certificate.ts';
import { type ExtensionAuthentication, mergeAuthentication } from './authentication-config-map.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const YEAR_MS = 365 * 86_400_000;
const authority = (name: string, untilMs = NOW + YEAR_MS): string =>
  createAuthority({ commonName: name }, new Date(NOW - 2 * YEAR_MS), new Date(untilMs)).certificate;

const first: ExtensionAuthentication = {
  clientAuthorities: `${authority('a')}\n${authority('b')}`,
  requestHeaderAuthorities: authority('front-a'),
  requestHeaderNames: ['front'],
  usernameHeaders: [],
  groupHeaders: [],
  extraPrefixes: [],
};
const count = (text = ''): number => text.split('BEGIN CERTIFICATE').length - 1;

describe('mergeAuthentication', () => {
  test('has the same outcome however often it is done', () => {
    const once = mergeAuthentication({}, first, NOW);
    expect(once).toMatchObject({
      'requestheader-allowed-names': '["front"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    });
    expect(count(once['client-ca-file'])).toBe(2);
    expect(mergeAuthentication(once, first, NOW)).toEqual(once);
  });

  test('adds to what another server wrote, and drops authorities that are over', () => {
    const over = { ...first, requestHeaderAuthorities: authority('front-old', NOW - 1) };
    const known = mergeAuthentication({ other: 'kept' }, first, NOW);
    const second = {
      ...first,
      requestHeaderAuthorities: authority('front-b'),
      requestHeaderNames: ['back'],
      groupHeaders: ['X-Group'],
    };
    const both = mergeAuthentication(known, second, NOW);
    expect([count(both['requestheader-client-ca-file']), both['other']]).toEqual([2, 'kept']);
    expect(both['requestheader-allowed-names']).toBe('["front","back"]');
    expect(both['requestheader-group-headers']).toBe('["X-Remote-Group","X-Group"]');
    const old = mergeAuthentication({}, over, NOW - YEAR_MS);
    expect(count(mergeAuthentication(old, first, NOW)['requestheader-client-ca-file'])).toBe(1);
  });

  test('makes good what is broken', () => {
    const broken = { 'client-ca-file': 'rubbish', 'requestheader-allowed-names': '{' };
    expect(mergeAuthentication(broken, first, NOW)).toEqual(mergeAuthentication({}, first, NOW));
  });
});
