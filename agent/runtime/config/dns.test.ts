import { describe, expect, test } from 'vitest';
import type { PodSpec } from '#api/gen/core-v1.ts';
import { type DnsSettings, decidePodDns } from './hostname.ts';
import { DNS, testPod } from './pod.fixture.ts';

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
