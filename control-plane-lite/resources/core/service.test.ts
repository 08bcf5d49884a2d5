import { describe, expect, test } from 'vitest';
import type { ServiceSpec } from '#api/gen/core-v1.ts';
import { parseIpRange } from '#api/meta/ip.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createMemoryStore } from './allocation/memory-store.fixture.ts';
import { createServiceAllocation } from './allocation/service-allocation.ts';
import { BASE, type Bench, dual, prepared, single, specOf, type } from './service.fixture.ts';
import { changed, contextWith, NOW_MS, objectOf } from './strategy.fixture.ts';

const context = contextWith();

describe('creation', () => {
  test.each<[string, () => Bench, object, Partial<ServiceSpec>]>([
    [
      'an address of the one family',
      single,
      {},
      {
        clusterIP: '10.0.0.1',
        clusterIPs: ['10.0.0.1'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      },
    ],
    [
      'one of the first family',
      dual,
      {},
      { clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'one of the second family',
      dual,
      { spec: { ipFamilies: ['IPv6'] } },
      { clusterIPs: ['fd00::1'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'both families',
      dual,
      { spec: { ipFamilyPolicy: 'PreferDualStack' } },
      { clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] },
    ],
    [
      'what there is if both are not there',
      single,
      { spec: { ipFamilyPolicy: 'PreferDualStack' } },
      { clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] },
    ],
    [
      'both in the order asked for',
      dual,
      { spec: { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] } },
      { clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.0.0.1'] },
    ],
    [
      'the address asked for',
      dual,
      { spec: { clusterIP: '10.0.0.77' } },
      { clusterIPs: ['10.0.0.77'], ipFamilies: ['IPv4'] },
    ],
    [
      'the family of the address asked for',
      dual,
      { spec: { clusterIP: 'fd00::77' } },
      { clusterIPs: ['fd00::77'], ipFamilies: ['IPv6'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'both addresses asked for',
      dual,
      { spec: { clusterIP: 'fd00::7', clusterIPs: ['fd00::7', '10.0.0.7'] } },
      { ipFamilies: ['IPv6', 'IPv4'], ipFamilyPolicy: 'RequireDualStack' },
    ],
    [
      'no address if headless',
      single,
      { spec: { clusterIP: 'None' } },
      { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    ],
    [
      'any family if headless and without selector',
      single,
      { spec: { clusterIP: 'None', selector: {} } },
      { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' },
    ],
  ])('gives %s', async (_, bench, changes, expected) => {
    expect(specOf(await bench().create(changes))).toMatchObject(expected);
  });

  test('gives an external name nothing', async () => {
    const bench = single();
    const spec = specOf(await bench.create(type('ExternalName', { externalName: 'a.b' })));
    expect([spec.clusterIP, spec.clusterIPs, spec.ipFamilies, spec.ipFamilyPolicy]).toEqual(
      Array(4).fill(undefined),
    );
    expect(bench.keys()).toEqual([]);
  });

  test.each<[string, object, readonly number[], readonly number[]]>([
    [
      'one to each port',
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'b', port: 2 },
        ],
      },
      [30_000, 30_001],
      [30_000, 30_001],
    ],
    [
      'the one asked for',
      {
        ports: [
          { name: 'a', port: 1, nodePort: 30_005 },
          { name: 'b', port: 2 },
        ],
      },
      [30_005, 30_000],
      [30_000, 30_005],
    ],
    [
      'one to both protocols of a port',
      {
        ports: [
          { name: 'a', port: 53 },
          { name: 'b', port: 53, protocol: 'UDP' },
        ],
      },
      [30_000, 30_000],
      [30_000],
    ],
    [
      'the one asked for to the other protocol',
      {
        ports: [
          { name: 'a', port: 53 },
          { name: 'b', port: 53, protocol: 'UDP', nodePort: 30_004 },
        ],
      },
      [30_004, 30_004],
      [30_004],
    ],
  ])('gives node ports: %s', async (_, spec, expected, taken) => {
    const bench = single();
    const service = await bench.create(type('NodePort', spec));
    expect(specOf(service).ports?.map(({ nodePort }) => nodePort)).toEqual(expected);
    expect(bench.keys().filter((key) => key.startsWith('nodeports/'))).toEqual(
      taken.map((port) => `nodeports/${port}`),
    );
  });

  test('gives a load balancer node ports unless it wants none, and a health check port for local traffic', async () => {
    const bench = single();
    const balancer = await bench.create(type('LoadBalancer', { externalTrafficPolicy: 'Local' }));
    expect(specOf(balancer)).toMatchObject({ ports: [{ nodePort: 30_000 }], healthCheckNodePort: 30_001 });
    const bare = await bench.create({
      metadata: { name: 'bare' },
      ...type('LoadBalancer', { allocateLoadBalancerNodePorts: false }),
    });
    expect(specOf(bare).ports?.[0]?.nodePort).toBeUndefined();
  });

  test.each<[string, object, RegExp]>([
    [
      'an address that is taken',
      { spec: { clusterIP: '10.0.0.1' } },
      /422 .*spec\.clusterIPs\[0\]: Invalid value: "10\.0\.0\.1": provided IP is already allocated/,
    ],
    [
      'an address of elsewhere',
      { spec: { clusterIP: '10.9.0.1' } },
      /422 .*not in the valid range\. The range of valid IPs is 10\.0\.0\.0\/24/,
    ],
    [
      'a port that is taken',
      type('NodePort', { ports: [{ port: 1, nodePort: 30_000 }] }),
      /422 .*spec\.ports\[0\]\.nodePort: Invalid value: 30000: provided port is already allocated/,
    ],
    [
      'a port of elsewhere',
      type('NodePort', { ports: [{ port: 1, nodePort: 80 }] }),
      /422 .*The range of valid ports is 30000-30009/,
    ],
    [
      'more ports than there are',
      type('NodePort', {
        ports: Array.from({ length: 10 }, (_, index) => ({ name: `p${index}`, port: index + 1 })),
      }),
      /500 failed to allocate a nodePort: range is full/,
    ],
  ])('refuses %s and gives back what it had taken', async (_, changes, expected) => {
    const bench = single();
    await bench.create(type('NodePort'));
    const before = bench.keys();
    const failed = await bench
      .create(changed({ metadata: { name: 'second' } }, changes))
      .catch((thrown: unknown) => thrown);
    expect(failed).toBeInstanceOf(StatusError);
    expect(`${(failed as StatusError).code} ${(failed as StatusError).message}`).toMatch(expected);
    expect(bench.keys()).toEqual(before);
  });

  test('gives back what was reserved for a service that was not stored', async () => {
    const { kind, keys } = single();
    const draft = prepared(kind, type('NodePort'));
    const release = await kind.strategy.reserve?.(draft, undefined, context);
    expect(keys()).toHaveLength(2);
    await release?.();
    expect(keys()).toEqual([]);
  });

  test('gives back all of a service that was removed', async () => {
    const bench = dual();
    const service = await bench.create(
      type('LoadBalancer', { externalTrafficPolicy: 'Local', ipFamilyPolicy: 'RequireDualStack' }),
    );
    expect(bench.keys()).toHaveLength(4);
    await bench.kind.strategy.release?.(service);
    expect(bench.keys()).toEqual([]);
  });
});

describe('update', () => {
  test('keeps what a client leaves out', async () => {
    const bench = dual();
    const old = await bench.create(
      type('LoadBalancer', { externalTrafficPolicy: 'Local', ipFamilyPolicy: 'PreferDualStack' }),
    );
    const before = bench.keys();
    const now = await bench.update(old, {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      ports: [{ port: 81 }],
    });
    expect(specOf(now)).toMatchObject({
      clusterIP: '10.0.0.1',
      clusterIPs: ['10.0.0.1', 'fd00::1'],
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'PreferDualStack',
      ports: [{ port: 81, nodePort: 30_000 }],
      healthCheckNodePort: specOf(old).healthCheckNodePort,
    });
    expect(bench.keys()).toEqual(before);
  });

  test.each<[from: string, to: object, kept: readonly string[], spec: object]>([
    ['NodePort', { ...BASE.spec, type: 'ClusterIP' }, ['ips/IPv4/10.0.0.1'], { clusterIP: '10.0.0.1' }],
    ['NodePort', { ...BASE.spec, type: 'ExternalName', externalName: 'a.b' }, [], { externalName: 'a.b' }],
    [
      'ClusterIP',
      { ...BASE.spec, type: 'NodePort' },
      ['ips/IPv4/10.0.0.1', 'nodeports/30000'],
      { ports: [{ nodePort: 30_000 }] },
    ],
    [
      'LoadBalancer',
      { ...BASE.spec, type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' },
      ['ips/IPv4/10.0.0.1', 'nodeports/30000'],
      {},
    ],
    [
      'LoadBalancer',
      {
        ...BASE.spec,
        type: 'LoadBalancer',
        ports: [{ port: 80, nodePort: 30_007 }],
        externalTrafficPolicy: 'Cluster',
      },
      ['ips/IPv4/10.0.0.1', 'nodeports/30007'],
      {},
    ],
  ])('from %s to %j leaves %j', async (from, to, kept, spec) => {
    const bench = single();
    const local = from === 'LoadBalancer' ? { externalTrafficPolicy: 'Local' } : {};
    const old = await bench.create(type(from, local));
    // A client that edits sends all that it was given.
    const sent = from === 'NodePort' ? { ...specOf(old), ...to, ports: specOf(old).ports } : to;
    expect(specOf(await bench.update(old, sent))).toMatchObject(spec);
    expect(bench.keys()).toEqual(kept);
  });

  test('from an external name gives an address', async () => {
    const bench = single();
    const old = await bench.create(type('ExternalName', { externalName: 'a.b' }));
    expect(specOf(await bench.update(old, { ...BASE.spec }))).toMatchObject({
      clusterIPs: ['10.0.0.1'],
      ipFamilies: ['IPv4'],
    });
  });

  test('adds a family and takes it away', async () => {
    const bench = dual();
    const one = await bench.create();
    const both = await bench.update(one, { ...specOf(one), ipFamilyPolicy: 'PreferDualStack' });
    expect(specOf(both)).toMatchObject({ clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv4', 'IPv6'] });
    const again = await bench.update(both, { ...specOf(both), ipFamilyPolicy: 'SingleStack' });
    expect(specOf(again)).toMatchObject({ clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] });
    expect(bench.keys()).toEqual(['ips/IPv4/10.0.0.1']);
  });

  test.each<[string, object, RegExp]>([
    ['its address', { clusterIP: '10.0.0.9' }, /spec\.clusterIPs\[0\]/],
    ['its first family', { ipFamilies: ['IPv6'] }, /spec\.ipFamilies\[0\]/],
    ['an address for none', { clusterIP: 'None' }, /spec\.clusterIPs\[0\]/],
    [
      'both families for the second one',
      { ipFamilies: ['IPv6'], clusterIPs: ['fd00::1'], clusterIP: 'fd00::1', ipFamilyPolicy: 'SingleStack' },
      /spec\.clusterIPs\[0\]/,
    ],
    [
      'the second address without saying so',
      { clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'] },
      /FieldValueInvalid spec\.ipFamilyPolicy/,
    ],
  ])('does not change %s', async (_, spec, expected) => {
    const bench = dual();
    const old = await bench.create({ spec: { ipFamilyPolicy: 'RequireDualStack' } });
    await expect(bench.update(old, { ...specOf(old), ...spec })).rejects.toThrow(expected);
  });

  test('changes no class of a load balancer', async () => {
    const bench = single();
    const old = await bench.create(type('LoadBalancer', { loadBalancerClass: 'a.b/c' }));
    await expect(bench.update(old, { ...specOf(old), loadBalancerClass: 'a.b/d' })).rejects.toThrow(
      'spec.loadBalancerClass',
    );
  });
});

describe('repair', () => {
  test('makes good what services have', async () => {
    const bench = dual();
    const service = await bench.create(
      type('LoadBalancer', { externalTrafficPolicy: 'Local', ipFamilyPolicy: 'RequireDualStack' }),
    );
    const memory = createMemoryStore();
    const allocation = createServiceAllocation(
      { store: memory.store, random: () => 0, now: () => NOW_MS },
      {
        clusterIPRanges: ['10.0.0.0/24', 'fd00::/112'].flatMap((text) => parseIpRange(text) ?? []),
        nodePorts: { first: 30_000, last: 30_009 },
      },
    );
    expect(await allocation.repair([service])).toEqual({ restored: 4, freed: 0, conflicts: [] });
    expect(memory.keys().map((key) => key.replace('/ranges/services/', ''))).toEqual(bench.keys());
    expect(await allocation.repair([service])).toEqual({ restored: 0, freed: 0, conflicts: [] });
  });
});

describe('row', () => {
  const spec = {
    clusterIPs: ['10.0.0.1'],
    ports: [{ port: 80 }, { port: 53, nodePort: 30_000, protocol: 'UDP' }],
  };
  test.each<[string, object, object, readonly string[]]>([
    ['ClusterIP', spec, {}, ['10.0.0.1', '<none>', '80/TCP,53:30000/UDP']],
    [
      'NodePort',
      { ...spec, externalIPs: ['1.2.3.4', '1.2.3.5'] },
      {},
      ['10.0.0.1', '1.2.3.4,1.2.3.5', '80/TCP,53:30000/UDP'],
    ],
    ['LoadBalancer', spec, {}, ['10.0.0.1', '<pending>', '80/TCP,53:30000/UDP']],
    [
      'LoadBalancer',
      { ...spec, externalIPs: ['1.2.3.4'] },
      { loadBalancer: { ingress: [{ ip: '5.6.7.8' }, { hostname: 'lb.example.com' }] } },
      ['10.0.0.1', '5.6.7.8,lb.example.com,1.2.3.4', '80/TCP,53:30000/UDP'],
    ],
    ['ExternalName', { externalName: 'a.b', ports: [] }, {}, ['<none>', 'a.b', '<none>']],
  ])('of a %s with %j %j', (name, changes, status, cells) => {
    const service = objectOf('core/v1.Service', changed(BASE, { spec: { type: name, ...changes }, status }));
    service.metadata.creationTimestamp = '2022-05-03T11:59:00Z';
    const row = single().kind.strategy.row?.(service, { nowMs: NOW_MS, vocabulary: VOCABULARIES.plat });
    expect(row).toEqual(['web', name, ...cells, '60s', 'app=web']);
  });
});
