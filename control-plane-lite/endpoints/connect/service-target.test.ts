import { describe, expect, test } from 'vitest';
import type { Endpoints, Pod, Service } from '#api/gen/core-v1.ts';
import { serviceEndpoint } from './service-target.ts';

const service: Service = {
  metadata: { namespace: 'ns', name: 'web' },
  spec: {
    ports: [
      { name: 'http', port: 80 },
      { name: 'admin', port: 81 },
    ],
  },
};
const address = (ip: string, pod: string, namespace = 'ns') => ({
  ip,
  targetRef: { kind: 'Pod', namespace, name: pod },
});
const endpoints = (...addresses: NonNullable<Endpoints['subsets']>[number]['addresses'] & {}): Endpoints => ({
  subsets: [
    {
      addresses,
      ports: [
        { name: 'http', port: 8080 },
        { name: 'admin', port: 9090 },
      ],
    },
  ],
});
const PODS: Readonly<Record<string, Pod>> = {
  'ns/a': { status: { podIP: '10.1.0.1', podIPs: [{ ip: '10.1.0.1' }] } },
  'ns/b': { status: { podIP: '10.1.0.2', podIPs: [{ ip: '10.1.0.2' }, { ip: 'fd00::2' }] } },
};
const pod = (namespace: string, name: string): Pod | undefined => PODS[`${namespace}/${name}`];
const last = (count: number): number => count - 1;
const named = (port: string) => ({ scheme: undefined, name: 'web', port });

describe('serviceEndpoint', () => {
  const both = endpoints(address('10.1.0.1', 'a'), address('fd00::2', 'b'));

  test.each([
    ['a port’s name', 'http', { host: 'fd00::2', port: 8080 }],
    ['a port’s number', '81', { host: 'fd00::2', port: 9090 }],
  ])('finds a pod by %s', (_, port, expected) => {
    expect(serviceEndpoint({ service, endpoints: both, pod }, named(port), last)).toEqual(expected);
  });

  test.each([
    ['no endpoints', undefined, 'http', 'no endpoints available for service "web"'],
    ['no port of that name', both, '', 'no endpoints available for service "web"'],
    ['no port of that number', both, '82', 'no service port 82 found for service "web"'],
    ['an address that names no pod', endpoints({ ip: '10.1.0.1' }), 'http', 'no endpoints available'],
    ['an address of another pod', endpoints(address('10.1.0.2', 'a')), 'http', 'no endpoints available'],
    [
      'a pod of another namespace',
      endpoints(address('10.1.0.1', 'a', 'x')),
      'http',
      'no endpoints available',
    ],
    ['a pod that is gone', endpoints(address('10.1.0.9', 'c')), 'http', 'no endpoints available'],
  ])('rejects %s', (_, given, port, message) => {
    expect(() => serviceEndpoint({ service, endpoints: given, pod }, named(port), last)).toThrow(message);
  });
});
