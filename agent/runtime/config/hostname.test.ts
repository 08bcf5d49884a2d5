import { describe, expect, test } from 'vitest';
import type { PodSpec } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type DnsSettings,
  decidePodDns,
  hostNetworkHostsFile,
  parseResolvConf,
  podHostname,
  podHostsFile,
} from './hostname.ts';
import { DNS, testPod } from './pod.fixture.ts';

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

const HEADER = VOCABULARIES.plat.managedHostsHeader;
const LOCAL = `${HEADER}.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
ff00::0\tip6-mcastprefix
ff02::1\tip6-allnodes
ff02::2\tip6-allrouters
`;
const BASE = { vocabulary: VOCABULARIES.plat, podIPs: ['10.1.0.7'], hostname: 'web', domain: '' };

test.each([
  ['one address', BASE, '10.1.0.7\tweb\n'],
  ['a domain', { ...BASE, domain: 'sub.shop.svc' }, '10.1.0.7\tweb.sub.shop.svc\tweb\n'],
  ['two addresses', { ...BASE, podIPs: ['10.1.0.7', 'fd00::7'] }, '10.1.0.7\tweb\nfd00::7\tweb\n'],
  [
    'aliases',
    { ...BASE, hostAliases: [{ ip: '192.0.2.1', hostnames: ['a', 'b'] }] },
    '10.1.0.7\tweb\n\n# Entries added by HostAliases.\n192.0.2.1\ta\tb\n',
  ],
])('a pod with %s', (_, input, expected) => {
  expect(podHostsFile(input)).toBe(`${LOCAL}${expected}`);
});

test.each([
  ['127.0.0.1 localhost\n', [], '127.0.0.1 localhost\n'],
  [
    '127.0.0.1 localhost',
    [{ ip: '192.0.2.1', hostnames: ['a'] }],
    '127.0.0.1 localhost\n\n# Entries added by HostAliases.\n192.0.2.1\ta\n',
  ],
  ['', [], ''],
])('host networking includes the file %j', (nodeFile, aliases, expected) => {
  expect(hostNetworkHostsFile(VOCABULARIES.plat, nodeFile, aliases)).toBe(
    `${HEADER} (host network).\n${expected}`,
  );
});

const HOST = { servers: ['192.0.2.1'], searches: ['example.net'], options: ['rotate'] };
const CLUSTER = {
  servers: ['10.0.0.10'],
  searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.net'],
  options: ['ndots:5'],
};

describe('decidePodDns', () => {
  test.each<[string, Partial<PodSpec>, Partial<DnsSettings>, object]>([
    ['uses the cluster without a policy', {}, {}, CLUSTER],
    ['uses the cluster', { dnsPolicy: 'ClusterFirst' }, {}, CLUSTER],
    ['uses the host with host network', { dnsPolicy: 'ClusterFirst', hostNetwork: true }, {}, HOST],
    [
      'uses the cluster when configured',
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true },
      {},
      CLUSTER,
    ],
    ['uses the host by Default', { dnsPolicy: 'Default' }, {}, HOST],
    ['is empty with None', { dnsPolicy: 'None' }, {}, { servers: [], searches: [], options: [] }],
    ['falls back to the host without cluster DNS', {}, { clusterDNS: [] }, HOST],
    [
      'adds no cluster searches without a domain',
      {},
      { clusterDomain: '' },
      { ...CLUSTER, searches: ['example.net'] },
    ],
    [
      'writes the resolver default without a host file',
      { dnsPolicy: 'Default' },
      { hostResolvConf: undefined },
      { servers: ['127.0.0.1'], searches: ['.'], options: [] },
    ],
    [
      'writes the IPv6 resolver default on an IPv6 node',
      { dnsPolicy: 'Default' },
      { hostResolvConf: undefined, nodeIsIPv6: true },
      { servers: ['::1'], searches: ['.'], options: [] },
    ],
    [
      'merges the pod entries, options by name',
      {
        dnsPolicy: 'ClusterFirst',
        dnsConfig: {
          nameservers: ['10.0.0.10', '192.0.2.9'],
          searches: ['svc.cluster.local', 'own.example'],
          options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }, { name: '' }],
        },
      },
      {},
      {
        servers: ['10.0.0.10', '192.0.2.9'],
        searches: [...CLUSTER.searches, 'own.example'],
        options: ['ndots:2', 'edns0'],
      },
    ],
  ])('%s', (_, spec, settings, expected) => {
    expect(decidePodDns(testPod(spec), { ...DNS, ...settings }).config).toEqual(expected);
  });

  test('warns of a missing cluster DNS that was requested', () => {
    const settings = { ...DNS, clusterDNS: [] };
    const { warnings } = decidePodDns(testPod(), settings);
    expect(warnings.map(({ reason }) => reason)).toEqual(['MissingClusterDNS']);
    expect(decidePodDns(testPod(), { ...settings, clusterDomain: '' }).warnings).toEqual([]);
  });

  test('truncates to three nameservers with a warning', () => {
    const dnsConfig = { nameservers: ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'] };
    const { config, warnings } = decidePodDns(testPod({ dnsPolicy: 'None', dnsConfig }), DNS);
    expect(config.servers).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
    expect(warnings.map(({ reason }) => reason)).toEqual(['DNSConfigForming']);
    expect(warnings[0]?.message).toMatch(/: 192\.0\.2\.1 192\.0\.2\.2 192\.0\.2\.3$/);
  });

  const long = (length: number, count: number): string[] =>
    Array.from({ length: count }, (_, index) => `${index}`.padEnd(length, 'x'));

  test.each([
    ['six domains', long(3, 7), false, 6],
    ['256 characters', long(63, 5), false, 4],
    ['exactly the limit', long(63, 4), false, 4],
    ['32 domains when expanded', long(3, 40), true, 32],
    ['2048 characters when expanded', long(200, 12), true, 10],
    ['no domain beyond 255 characters', long(256, 1), true, 0],
  ])('truncates searches to %s', (_, searches, expandedLimits, expectedCount) => {
    const pod = testPod({ dnsPolicy: 'None', dnsConfig: { searches } });
    const { config, warnings } = decidePodDns(pod, { ...DNS, expandedLimits });
    expect(config.searches).toEqual(searches.slice(0, expectedCount));
    expect(warnings).toHaveLength(expectedCount === searches.length ? 0 : 1);
  });
});

test.each([
  ['an empty file', '', { servers: [], searches: [], options: [] }],
  [
    'all keywords, comments and odd spacing',
    '# a\n; b\n  nameserver\t192.0.2.1  \nnameserver 2001:db8::1\nsearch a.example b.example\noptions ndots:2 rotate\n',
    {
      servers: ['192.0.2.1', '2001:db8::1'],
      searches: ['a.example', 'b.example'],
      options: ['ndots:2', 'rotate'],
    },
  ],
  ['the last search line', 'search a\nsearch b c\n', { servers: [], searches: ['b', 'c'], options: [] }],
  ['domain as a search of one', 'domain a b\n', { servers: [], searches: ['a'], options: [] }],
  ['trailing dots', 'search a. . b\n', { servers: [], searches: ['a', '.', 'b'], options: [] }],
  ['options of several lines', 'options a\noptions b a', { servers: [], searches: [], options: ['a', 'b'] }],
  ['keywords without a value', 'nameserver\nsearch\n', { servers: [], searches: [], options: [] }],
  ['carriage returns', 'nameserver 192.0.2.1\r\n', { servers: ['192.0.2.1'], searches: [], options: [] }],
])('reads %s', (_, text, expected) => {
  expect(parseResolvConf(text)).toEqual(expected);
});
