import { describe, expect, test } from 'vitest';
import { createServiceTable, readService, type ServiceAddress, serviceEnv } from './services.ts';

const service = (namespace: string, name: string, clusterIP: string, ports: object[] = []): object => ({
  metadata: { namespace, name },
  spec: { clusterIP, ports },
});
const read = (...objects: readonly object[]): ServiceAddress[] =>
  objects.flatMap((object) => readService({ ...object }) ?? []);

const scope = { namespace: 'shop', apiService: 'api', masterNamespace: 'default', links: true };
const api = service('default', 'api', '10.0.0.1', [{ name: 'https', port: 443, protocol: 'TCP' }]);
const web = service('shop', 'web-front', '10.0.0.7', [
  { port: 80, protocol: 'TCP' },
  { name: 'dns-x', port: 53, protocol: 'UDP' },
]);

describe('serviceEnv', () => {
  test('names host and ports of each service, in both styles', () => {
    expect(serviceEnv(read(web), scope)).toEqual({
      WEB_FRONT_SERVICE_HOST: '10.0.0.7',
      WEB_FRONT_SERVICE_PORT: '80',
      WEB_FRONT_SERVICE_PORT_DNS_X: '53',
      WEB_FRONT_PORT: 'tcp://10.0.0.7:80',
      WEB_FRONT_PORT_80_TCP: 'tcp://10.0.0.7:80',
      WEB_FRONT_PORT_80_TCP_PROTO: 'tcp',
      WEB_FRONT_PORT_80_TCP_PORT: '80',
      WEB_FRONT_PORT_80_TCP_ADDR: '10.0.0.7',
      WEB_FRONT_PORT_53_UDP: 'udp://10.0.0.7:53',
      WEB_FRONT_PORT_53_UDP_PROTO: 'udp',
      WEB_FRONT_PORT_53_UDP_PORT: '53',
      WEB_FRONT_PORT_53_UDP_ADDR: '10.0.0.7',
    });
  });

  test.each<[string, Partial<typeof scope>, string[]]>([
    ['the own namespace and the API server', {}, ['API_SERVICE_HOST', 'WEB_FRONT_SERVICE_HOST']],
    ['the API server alone without links', { links: false }, ['API_SERVICE_HOST']],
    ['nothing of other namespaces', { namespace: 'else', masterNamespace: 'none' }, []],
  ])('has %s', (_, change, hosts) => {
    const names = Object.keys(serviceEnv(read(api, web), { ...scope, ...change }));
    expect(names.filter((name) => name.endsWith('_SERVICE_HOST'))).toEqual(hosts);
  });

  test('prefers a service of its own namespace to the API server', () => {
    const own = service('shop', 'api', '10.9.9.9', [{ port: 1, protocol: 'TCP' }]);
    expect(serviceEnv(read(api, own), scope)['API_SERVICE_HOST']).toBe('10.9.9.9');
  });

  test('omits services without an address or ports', () => {
    const objects = [
      service('shop', 'a', 'None', [{ port: 1 }]),
      service('shop', 'b', ''),
      service('shop', 'c', '10.0.0.3'),
    ];
    expect(serviceEnv(read(...objects), scope)).toEqual({});
  });
});

describe('createServiceTable', () => {
  test('is unknown before the first list, and drops deleted services', async () => {
    const counts: number[] = [];
    const table = createServiceTable((all) => counts.push(all.length));
    expect(table.list()).toBeUndefined();
    const waiting = table.whenKnown(new AbortController().signal);
    table.replace([{ ...api }, { ...web }]);
    await waiting;
    table.change({ type: 'DELETED', object: { ...web } });
    expect(table.list()?.map(({ name }) => name)).toEqual(['api']);
    expect(counts).toEqual([2, 1]);
  });

  test('uses the persisted list only before the server delivers one', () => {
    const table = createServiceTable(() => undefined);
    table.restore(read(web));
    expect(table.list()?.map(({ name }) => name)).toEqual(['web-front']);
    table.replace([{ ...api }]);
    table.restore(read(web));
    expect(table.list()?.map(({ name }) => name)).toEqual(['api']);
  });
});
