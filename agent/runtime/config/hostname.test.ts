import { expect, test } from 'vitest';
import type { PodSpec } from '#api/gen/core-v1.ts';
import { podHostname } from './hostname.ts';
import { testPod } from './pod.fixture.ts';

const ok = (hostname: string, domain = '', kernelHostname = hostname): object => ({
  kind: 'ok',
  hostname,
  domain,
  kernelHostname,
});
const DOMAIN = 'sub.shop.svc.cluster.local';

test.each<[string, Partial<PodSpec>, object]>([
  ['the pod name', {}, ok('web')],
  ['spec.hostname', { hostname: 'mail' }, ok('mail')],
  ['a subdomain', { subdomain: 'sub' }, ok('web', DOMAIN)],
  ['the FQDN', { subdomain: 'sub', setHostnameAsFQDN: true }, ok('web', DOMAIN, `web.${DOMAIN}`)],
  ['no FQDN without subdomain', { setHostnameAsFQDN: true }, ok('web')],
  ['an error for a bad hostname', { hostname: 'a_b' }, { kind: 'error' }],
  ['an error for a bad subdomain', { subdomain: 'a.b' }, { kind: 'error' }],
])('gives %s', (_, spec, expected) => {
  expect(podHostname(testPod(spec), 'cluster.local')).toMatchObject(expected);
});

test.each([
  ['63 characters stay', 'a'.repeat(63), 'a'.repeat(63)],
  ['64 are cut', 'a'.repeat(64), 'a'.repeat(63)],
  ['a dash and a dot at the cut go', `${'a'.repeat(60)}.-.bcd`, 'a'.repeat(60)],
])('of a long name, %s', (_, name, hostname) => {
  const pod = testPod();
  const result = podHostname({ ...pod, metadata: { ...pod.metadata, name } }, '');
  expect(result).toEqual(ok(hostname));
});

test('the FQDN may have 64 characters and no more', () => {
  const fqdnOf = (length: number): object =>
    podHostname(
      testPod({
        hostname: 'h'.repeat(length - DOMAIN.length - 1),
        subdomain: 'sub',
        setHostnameAsFQDN: true,
      }),
      'cluster.local',
    );
  expect(fqdnOf(64)).toMatchObject({ kind: 'ok' });
  expect(fqdnOf(65)).toMatchObject({ kind: 'error' });
});
