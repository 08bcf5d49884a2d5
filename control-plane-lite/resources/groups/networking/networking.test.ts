import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { createIngress } from './ingress.ts';
import { ingressClass } from './ingress-class.ts';
import { networkPolicy } from './network-policy.ts';

const GROUP = `networking.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' };

describe('an ingress', () => {
  const backend = { service: { name: 'web', port: { number: 80 } } };
  const path = { path: '/', pathType: 'Prefix', backend };
  const subject: KindSubject = {
    typeRef: `${GROUP}.Ingress`,
    entry: createIngress(VOCABULARIES.plat),
    base: { metadata, spec: { rules: [{ host: 'a.example.com', http: { paths: [path] } }] } },
  };
  const rule = (value: object): Changes => ({ 'spec.rules': [value] });
  const paths = (...list: readonly object[]): Changes => rule({ http: { paths: list } });
  const defaultBackend = (value: object): Changes => ({ 'spec.defaultBackend': value });
  const AT = 'spec.rules[0].http.paths[0]';
  const BACKEND = 'spec.defaultBackend';
  const resource = { apiGroup: 'example.com', kind: 'Bucket', name: 'b' };
  const annotation = `${VOCABULARIES.plat.domain}/ingress.class`;

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without rules', { spec: {} }, ['spec Invalid']],
    ['with a backend only', { spec: { defaultBackend: backend } }, []],
    ['with any host', rule({ host: '*.example.com' }), []],
    [
      'with broken hosts',
      { 'spec.rules': [{ host: '10.0.0.1' }, { host: '*' }, { host: 'a_b' }] },
      ['spec.rules[0].host Invalid', 'spec.rules[1].host Invalid', 'spec.rules[2].host Invalid'],
    ],
    ['without paths', paths(), ['spec.rules[0].http.paths Required']],
    ['with a relative path', paths({ ...path, path: 'a' }), [`${AT}.path Invalid`]],
    ['with no path', paths({ ...path, path: undefined }), [`${AT}.path Invalid`]],
    ['with no path of its own kind', paths({ pathType: 'ImplementationSpecific', backend }), []],
    [
      'with a pattern of its own kind',
      paths({ pathType: 'ImplementationSpecific', backend, path: '*' }),
      [`${AT}.path Invalid`],
    ],
    [
      'with path tricks',
      paths({ ...path, pathType: 'Exact', path: '/a//b/./c/../d%2f%2F/..' }),
      Array.from({ length: 6 }, () => `${AT}.path Invalid`),
    ],
    ['with an unfinished path', paths({ ...path, path: '/a/.' }), [`${AT}.path Invalid`]],
    ['with no backend', defaultBackend({}), [`${BACKEND} Required`]],
    ['with two backends', defaultBackend({ ...backend, resource }), [`${BACKEND} Invalid`]],
    ['with a resource', defaultBackend({ resource }), []],
    [
      'with a broken resource',
      defaultBackend({ resource: { apiGroup: '_', kind: '', name: 'a/b' } }),
      [
        `${BACKEND}.resource.apiGroup Invalid`,
        `${BACKEND}.resource.kind Required`,
        `${BACKEND}.resource.name Invalid`,
      ],
    ],
    [
      'with no service',
      defaultBackend({ service: { name: '' } }),
      [`${BACKEND}.service.name Required`, `${BACKEND}.service.port Required`],
    ],
    [
      'with two ports',
      defaultBackend({ service: { name: '1', port: { name: 'a', number: 1 } } }),
      [`${BACKEND}.service.name Invalid`, `${BACKEND} Invalid`],
    ],
    [
      'with broken ports',
      defaultBackend({ service: { name: 'a', port: { name: 'A' } } }),
      [`${BACKEND}.service.port.name Invalid`, `${BACKEND}.service.port.name Invalid`],
    ],
    [
      'with a port too high',
      defaultBackend({ service: { name: 'a', port: { number: 65_536 } } }),
      [`${BACKEND}.service.port.number Invalid`],
    ],
    ['with TLS', { 'spec.tls': [{ hosts: ['*.a.b'], secretName: 's' }] }, []],
    [
      'with broken TLS',
      { 'spec.tls': [{ hosts: ['a_b'], secretName: '_' }] },
      ['spec.tls[0].hosts[0] Invalid', 'spec.tls[0].secretName Invalid'],
    ],
    ['with a broken class', { 'spec.ingressClassName': '_' }, ['spec.ingressClassName Invalid']],
    [
      'with two classes',
      { 'spec.ingressClassName': 'a', 'metadata.annotations': { [annotation]: 'a' } },
      [`metadata.annotations[${annotation}] Invalid`],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  const ingress = (...list: readonly object[]): Changes => ({ 'status.loadBalancer.ingress': list });
  test.each<ErrorRow>([
    ['is right', ingress({ ip: '10.0.0.1' }, { hostname: 'a.b' }), []],
    [
      'with broken addresses',
      ingress({ ip: 'x' }, { hostname: '_' }, { hostname: '10.0.0.1' }),
      [
        'status.loadBalancer.ingress[0].ip Invalid',
        'status.loadBalancer.ingress[1].hostname Invalid',
        'status.loadBalancer.ingress[2].hostname Invalid',
      ],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('warns of the class in an annotation, once', () => {
    const object = objectWith(subject, { 'metadata.annotations': { [annotation]: 'a' } });
    const warnings = subject.entry.strategy.warnings;
    expect(warnings?.(object, undefined)).toHaveLength(1);
    expect(warnings?.(object, object)).toEqual([]);
  });

  it('starts without address, and has a row', () => {
    expect(created(subject)['status']).toEqual({ loadBalancer: {} });
    expect(rowOf(subject)).toEqual(['web', '<none>', 'a.example.com', '', '80', '60s']);
    const changes = {
      'spec.ingressClassName': 'nginx',
      'spec.rules': ['a', 'b', 'c', 'd'].map((host) => ({ host })),
      'spec.tls': [{}],
      ...ingress({ ip: '10.0.0.1' }, { hostname: 'a.b' }),
    };
    expect(rowOf(subject, changes)).toEqual([
      'web',
      'nginx',
      'a,b,c + 1 more...',
      '10.0.0.1,a.b',
      '80, 443',
      '60s',
    ]);
    expect(rowOf(subject, { 'spec.rules': [{}] })[2]).toBe('*');
  });
});

describe('an ingress class', () => {
  const parameters = { kind: 'Config', name: 'c' };
  const subject: KindSubject = {
    typeRef: `${GROUP}.IngressClass`,
    entry: ingressClass,
    base: {
      metadata: { ...metadata, namespace: undefined },
      spec: { controller: 'example.com/nginx', parameters },
    },
  };
  const PATH = 'spec.parameters';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without controller', { 'spec.controller': '' }, ['spec.controller Required']],
    ['with a controller without path', { 'spec.controller': 'example.com' }, ['spec.controller Invalid']],
    [
      'with a controller without domain',
      { 'spec.controller': '_/a b' },
      ['spec.controller Invalid', 'spec.controller Invalid'],
    ],
    ['with a long controller', { 'spec.controller': `a.b/${'c'.repeat(250)}` }, ['spec.controller TooLong']],
    [
      'with broken parameters',
      { [PATH]: { apiGroup: '_', kind: '', name: 'a/b' } },
      [`${PATH}.apiGroup Invalid`, `${PATH}.kind Required`, `${PATH}.name Invalid`],
    ],
    ['in a namespace', { [PATH]: { ...parameters, scope: 'Namespace', namespace: 'n' } }, []],
    ['in no namespace', { [PATH]: { ...parameters, scope: 'Namespace' } }, [`${PATH}.namespace Required`]],
    [
      'in a broken namespace',
      { [PATH]: { ...parameters, scope: 'Namespace', namespace: '_' } },
      [`${PATH}.namespace Invalid`],
    ],
    ['in all namespaces', { [`${PATH}.namespace`]: 'n' }, [`${PATH}.namespace Forbidden`]],
    ['elsewhere', { [`${PATH}.scope`]: 'Moon' }, [`${PATH}.scope NotSupported`]],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['parameters', { [PATH]: undefined }, []],
    ['controller', { 'spec.controller': 'a.b/c' }, ['spec.controller Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has a row', () => {
    expect(rowOf(subject)).toEqual(['web', 'example.com/nginx', 'Config/c', '60s']);
    expect(rowOf(subject, { [`${PATH}.apiGroup`]: 'a.b' })[2]).toBe('Config.a.b/c');
    expect(rowOf(subject, { [PATH]: undefined })[2]).toBe('<none>');
  });
});

describe('a network policy', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}.NetworkPolicy`,
    entry: networkPolicy,
    base: { metadata, spec: { podSelector: { matchLabels: { a: 'b' } } } },
  };
  const ports = (...list: readonly object[]): Changes => ({ 'spec.ingress': [{ ports: list }] });
  const from = (...list: readonly object[]): Changes => ({ 'spec.ingress': [{ from: list }] });
  const block = (cidr: string, ...except: readonly string[]): Changes => from({ ipBlock: { cidr, except } });
  const PORT = 'spec.ingress[0].ports[0]';
  const PEER = 'spec.ingress[0].from[0]';

  test.each<ErrorRow>([
    ['is right', {}, []],
    [
      'with a broken selector',
      { 'spec.podSelector.matchLabels': { a: '-' } },
      ['spec.podSelector.matchLabels[a] Invalid'],
    ],
    ['with ports', ports({ port: 80 }, { port: 'http' }, { port: 80, endPort: 90 }), []],
    [
      'with broken ports',
      ports({ port: 0 }, { port: 'A' }),
      [
        `${PORT}.port Invalid`,
        'spec.ingress[0].ports[1].port Invalid',
        'spec.ingress[0].ports[1].port Invalid',
      ],
    ],
    ['with an end only', ports({ endPort: 5 }), [`${PORT}.port Required`]],
    ['with a name and an end', ports({ port: 'http', endPort: 5 }), [`${PORT}.endPort Invalid`]],
    ['with an end before the start', ports({ port: 6, endPort: 5 }), [`${PORT}.endPort Invalid`]],
    ['with an end too high', ports({ port: 6, endPort: 65_536 }), [`${PORT}.endPort Invalid`]],
    ['from nowhere', from({}), [`${PEER} Required`]],
    ['from pods', from({ podSelector: {}, namespaceSelector: {} }), []],
    [
      'from broken pods',
      from({
        podSelector: { matchLabels: { a: '-' } },
        namespaceSelector: { matchLabels: { a: '-' } },
      }),
      [`${PEER}.podSelector.matchLabels[a] Invalid`, `${PEER}.namespaceSelector.matchLabels[a] Invalid`],
    ],
    ['from addresses', block('10.0.0.0/8', '10.1.0.0/16'), []],
    ['from IPv6 addresses', block('fd00::/8', 'fd01::/16'), []],
    [
      'from addresses and pods',
      from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }),
      [`${PEER} Forbidden`],
    ],
    ['from no addresses', block(''), [`${PEER}.ipBlock.cidr Required`]],
    ['from broken addresses', block('10.0.0.0'), [`${PEER}.ipBlock.cidr Invalid`]],
    [
      'but not others',
      block('10.0.0.0/8', '11.0.0.0/16', '10.0.0.0/8', 'x'),
      [
        `${PEER}.ipBlock.except[0] Invalid`,
        `${PEER}.ipBlock.except[1] Invalid`,
        `${PEER}.ipBlock.except[2] Invalid`,
      ],
    ],
    [
      'to nowhere',
      { 'spec.egress': [{ to: [{}], ports: [{ port: 0 }] }] },
      ['spec.egress[0].ports[0].port Invalid', 'spec.egress[0].to[0] Required'],
    ],
    [
      'of three types',
      { 'spec.policyTypes': ['Ingress', 'Egress', 'Ingress'] },
      ['spec.policyTypes Invalid'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  it('has a status by the feature gate only', () => {
    const status = { conditions: [{ type: 'A', status: 'Maybe' }] };
    expect(throughPart(subject, 'status', { status })).toMatchObject({ object: { status: {} }, errors: [] });
    const gated = { ...subject, context: { gates: ['NetworkPolicyStatus'] } };
    expect(throughPart(gated, 'status', { status }).errors).toContain(
      'status.conditions[0].status NotSupported',
    );
  });

  it('has a row', () => expect(rowOf(subject)).toEqual(['web', 'a=b', '60s']));
});
