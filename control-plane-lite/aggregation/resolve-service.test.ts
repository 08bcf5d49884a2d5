import { describe, expect, test } from 'vitest';
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import { resolveService, type ServiceState } from './resolve-service.ts';

const REF = { namespace: 'n', name: 's', port: 443 };
const service: Service = { spec: { clusterIP: '10.0.0.1', ports: [{ name: 'https', port: 443 }] } };
const slice: EndpointSlice = {
  addressType: 'IPv4',
  endpoints: [
    { addresses: ['192.0.2.1'] },
    { addresses: ['192.0.2.2'], conditions: { ready: false } },
    { addresses: ['192.0.2.3'], conditions: { ready: true } },
  ],
  ports: [
    { name: 'metrics', port: 9090 },
    { name: 'https', port: 8443 },
  ],
};
const endpoints: Endpoints = {
  subsets: [
    { notReadyAddresses: [{ ip: '192.0.2.8' }], ports: [{ name: 'https', port: 8443 }] },
    { addresses: [{ ip: '192.0.2.9' }], ports: [{ name: 'https', port: 8443 }] },
  ],
};

const at = (host: string, port: number): string => `${host}:${port}`;

function resolve(state: Partial<ServiceState>, direct = true): readonly string[] {
  const found = resolveService(REF, { service, endpoints: undefined, slices: [], ...state }, direct);
  if (found.kind === 'unreachable') return [found.reason];
  return found.addresses.map(({ host, port }) => at(host, port));
}

describe('resolveService', () => {
  test.each<[string, Partial<ServiceState>, readonly string[]]>([
    ['no service', { service: undefined }, ['ServiceNotFound']],
    ['no such port', { service: { spec: { ports: [{ port: 80 }] } } }, ['ServicePortError']],
    ['no endpoints', {}, ['EndpointsNotFound']],
    ['no ready endpoints', { slices: [{ ...slice, endpoints: [] }] }, ['MissingEndpoints']],
    ['ports of other names', { slices: [{ ...slice, ports: [{ port: 1 }] }] }, ['MissingEndpoints']],
    ['what is ready in slices', { slices: [slice] }, ['192.0.2.1:8443', '192.0.2.3:8443']],
    ['what is ready in endpoints', { endpoints }, ['192.0.2.9:8443']],
    ['slices before endpoints', { endpoints, slices: [slice] }, ['192.0.2.1:8443', '192.0.2.3:8443']],
    [
      'endpoints where slices have none',
      { endpoints, slices: [{ ...slice, endpoints: [] }] },
      ['192.0.2.9:8443'],
    ],
    [
      'a name elsewhere, whatever its ports',
      { service: { spec: { type: 'ExternalName', externalName: 'x.example' } } },
      ['x.example:443'],
    ],
  ])('%s', (_, state, expected) => expect(resolve(state)).toEqual(expected));

  test('the address of the service, where that is wanted and there is one', () => {
    expect(resolve({ slices: [slice] }, false)).toEqual(['10.0.0.1:443']);
    const headless: Service = { spec: { ...service.spec, clusterIP: 'None' } };
    expect(resolve({ service: headless, slices: [slice] }, false)).toHaveLength(2);
    expect(resolve({ slices: [] }, false)).toEqual(['EndpointsNotFound']);
  });
});
