import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { BASE, dual, prepared, single, type } from './service.fixture.ts';
import { changed, createFaultsOf, objectOf, updateFaultsOf } from './strategy.fixture.ts';

describe('validation', () => {
  const named = (...ports: readonly object[]): object => ({ spec: { ports } });
  test.each<[string, object, readonly string[]]>([
    ['takes a plain service', {}, []],
    ['wants ports', named(), ['FieldValueRequired spec.ports']],
    ['wants none of a headless one', { spec: { ports: [], clusterIP: 'None' } }, []],
    [
      'wants names of several ports',
      named({ port: 1 }, { port: 2 }),
      ['FieldValueRequired spec.ports[0].name', 'FieldValueRequired spec.ports[1].name'],
    ],
    [
      'wants different names',
      named({ name: 'a', port: 1 }, { name: 'a', port: 2 }),
      ['FieldValueDuplicate spec.ports[1].name'],
    ],
    [
      'wants different ports',
      named({ name: 'a', port: 1 }, { name: 'b', port: 1 }),
      ['FieldValueDuplicate spec.ports[1]'],
    ],
    [
      'takes one port of two protocols',
      named({ name: 'a', port: 1 }, { name: 'b', port: 1, protocol: 'UDP' }),
      [],
    ],
    ['checks numbers', named({ port: 70_000, targetPort: 1 }), ['FieldValueInvalid spec.ports[0].port']],
    ['checks targets', named({ port: 1, targetPort: 'a_b' }), ['FieldValueInvalid spec.ports[0].targetPort']],
    [
      'checks protocols of applications',
      named({ port: 1, appProtocol: 'a b' }),
      ['FieldValueInvalid spec.ports[0].appProtocol'],
    ],
    [
      'takes no node port of a cluster IP',
      named({ port: 1, nodePort: 30_000 }),
      ['FieldValueForbidden spec.ports[0].nodePort'],
    ],
    [
      'wants different node ports',
      type('NodePort', {
        ports: [
          { name: 'a', port: 1, nodePort: 30_000 },
          { name: 'b', port: 2, nodePort: 30_000 },
        ],
      }),
      ['FieldValueDuplicate spec.ports[1].nodePort'],
    ],
    [
      'exposes no node agent',
      type('LoadBalancer', { ports: [{ port: 10_250 }] }),
      ['FieldValueInvalid spec.ports[0]'],
    ],
    ['checks selectors', { spec: { selector: { 'a b': '' } } }, ['FieldValueInvalid spec.selector']],
    [
      'gives node ports an address',
      type('NodePort', { clusterIP: 'None' }),
      ['FieldValueInvalid spec.clusterIPs[0]'],
    ],
    [
      'gives load balancers an address',
      type('LoadBalancer', { clusterIP: 'None' }),
      ['FieldValueInvalid spec.clusterIPs[0]'],
    ],
    ['wants an external name', type('ExternalName'), ['FieldValueRequired spec.externalName']],
    ['takes an external name', type('ExternalName', { externalName: 'example.com.', ports: [] }), []],
    [
      'checks an external name',
      type('ExternalName', { externalName: '-' }),
      ['FieldValueInvalid spec.externalName'],
    ],
    [
      'gives an external name no address',
      type('ExternalName', {
        externalName: 'a.b',
        clusterIP: '10.0.0.1',
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
      }),
      [
        'FieldValueForbidden spec.clusterIPs',
        'FieldValueForbidden spec.ipFamilies',
        'FieldValueForbidden spec.ipFamilyPolicy',
      ],
    ],
    ['defaults the time of affinity', { spec: { sessionAffinity: 'ClientIP' } }, []],
    [
      'checks the time of affinity',
      {
        spec: {
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } },
        },
      },
      ['FieldValueInvalid spec.sessionAffinityConfig.clientIP.timeoutSeconds'],
    ],
    ['takes external addresses', { spec: { externalIPs: ['192.168.1.1'] } }, []],
    [
      'takes no special ones',
      { spec: { externalIPs: ['127.0.0.1', 'x'] } },
      ['FieldValueInvalid spec.externalIPs[0]', 'FieldValueInvalid spec.externalIPs[1]'],
    ],
    [
      'has traffic from outside for some types',
      { spec: { externalTrafficPolicy: 'Local' } },
      ['FieldValueInvalid spec.externalTrafficPolicy'],
    ],
    [
      'has a health check for some types',
      type('NodePort', { healthCheckNodePort: 30_001 }),
      ['FieldValueInvalid spec.healthCheckNodePort'],
    ],
    [
      'has classes of load balancers only',
      { spec: { loadBalancerClass: 'x.io/y' } },
      ['FieldValueForbidden spec.loadBalancerClass'],
    ],
    [
      'checks classes',
      type('LoadBalancer', { loadBalancerClass: 'a b' }),
      ['FieldValueInvalid spec.loadBalancerClass'],
    ],
    [
      'has node ports of load balancers to choose only',
      { spec: { allocateLoadBalancerNodePorts: false } },
      ['FieldValueForbidden spec.allocateLoadBalancerNodePorts'],
    ],
    [
      'has source ranges of load balancers only',
      { spec: { loadBalancerSourceRanges: ['10.0.0.0/8'] } },
      ['FieldValueForbidden spec.loadBalancerSourceRanges'],
    ],
    [
      'checks source ranges',
      type('LoadBalancer', { loadBalancerSourceRanges: ['10.0.0.0/8', 'x'] }),
      ['FieldValueInvalid spec.loadBalancerSourceRanges'],
    ],
    [
      'checks source ranges in the annotation',
      {
        metadata: {
          annotations: { [`service.beta.${VOCABULARIES.plat.domain}/load-balancer-source-ranges`]: 'x' },
        },
        ...type('LoadBalancer'),
      },
      [
        `FieldValueInvalid metadata.annotations[service.beta.${VOCABULARIES.plat.domain}/load-balancer-source-ranges]`,
      ],
    ],
  ])('%s', (_, changes, errors) => {
    const { kind } = single();
    expect(createFaultsOf(kind, prepared(kind, changes))).toEqual(errors);
  });

  test.each<[string, object, readonly string[]]>([
    ['takes an address', { clusterIP: '10.0.0.9' }, []],
    ['takes both spellings', { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] }, []],
    [
      'wants both to agree',
      { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.8'] },
      ['FieldValueInvalid spec.clusterIPs'],
    ],
    ['wants the first spelling', { clusterIPs: ['10.0.0.8'] }, ['FieldValueInvalid spec.clusterIPs']],
    ['checks addresses', { clusterIP: 'x' }, ['FieldValueInvalid spec.clusterIPs[0]']],
    [
      'has None alone',
      { clusterIP: 'None', clusterIPs: ['None', '10.0.0.9'], selector: { a: 'b' } },
      ['FieldValueInvalid spec.clusterIPs'],
    ],
    [
      'has one of each family',
      { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9', '10.0.0.8'] },
      ['FieldValueInvalid spec.clusterIPs', 'FieldValueDuplicate spec.ipFamilies[1]'],
    ],
    [
      'wants the families to fit',
      { clusterIP: '10.0.0.9', ipFamilies: ['IPv6'] },
      ['FieldValueInvalid spec.clusterIPs[0]'],
    ],
    ['has no family twice', { ipFamilies: ['IPv4', 'IPv4'] }, ['FieldValueDuplicate spec.ipFamilies[1]']],
    [
      'has one family or several',
      { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv4', 'IPv6'] },
      ['FieldValueInvalid spec.ipFamilyPolicy'],
    ],
  ])('of addresses: %s', (_, spec, errors) => {
    const { kind } = dual();
    expect(createFaultsOf(kind, prepared(kind, { spec }))).toEqual(errors);
  });

  test('wants families that the cluster has', () => {
    const { kind } = single();
    expect(createFaultsOf(kind, prepared(kind, { spec: { ipFamilies: ['IPv6'] } }))).toEqual([
      'FieldValueInvalid spec.ipFamilies[0]',
    ]);
    expect(createFaultsOf(kind, prepared(kind, { spec: { ipFamilyPolicy: 'RequireDualStack' } }))).toContain(
      'FieldValueInvalid spec.ipFamilyPolicy',
    );
  });
});

describe('status', () => {
  test.each<[object, readonly string[]]>([
    [{ ip: '10.0.0.1' }, []],
    [{ hostname: 'a.b' }, []],
    [{ ip: 'x' }, ['FieldValueInvalid status.loadBalancer.ingress[0].ip']],
    [{ hostname: '10.0.0.1' }, ['FieldValueInvalid status.loadBalancer.ingress[0].hostname']],
    [{ hostname: 'A B' }, ['FieldValueInvalid status.loadBalancer.ingress[0].hostname']],
  ])('of ingress %j', (ingress, errors) => {
    const { kind } = single();
    const service = objectOf(
      'core/v1.Service',
      changed(BASE, { status: { loadBalancer: { ingress: [ingress] } } }),
    );
    expect(updateFaultsOf(kind, service, service, 'status')).toEqual(errors);
  });
});
