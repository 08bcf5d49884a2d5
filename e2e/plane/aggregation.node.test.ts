/** API aggregation: an extension server of the test behind an APIService. Source: document 1 §4.1; conditions
 *  and headers as in upstream's aggregator. */

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect as tlsConnect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import {
  aggregate,
  apiService,
  availability,
  BASE,
  conditionOf,
  type Extension,
  GROUP,
  NAME,
  WIDGETS,
} from './extension-server.ts';
import { usePlane } from './support.ts';

describe.each(['plat', 'kubernetes'] as const)('aggregation in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const words = VOCABULARIES[vocabulary];
  const services = plane.path('apiregistration/v1', 'apiservices');

  test('built-in groups have local APIServices', async () => {
    const automanaged = `${words.componentPrefix}-aggregator.${words.domain}/automanaged`;
    await availability(plane, 'v1.apps', 'True');
    const apps = await plane.get(`${services}/v1.apps`);
    expect(apps.body.metadata.labels).toEqual({ [automanaged]: 'onstart' });
    expect(apps.body.spec).toEqual({
      group: 'apps',
      version: 'v1',
      groupPriorityMinimum: 17800,
      versionPriority: 15,
    });
    expect(conditionOf(apps.body)).toMatchObject({ status: 'True', reason: 'Local' });
    const core = await availability(plane, 'v1.', 'True');
    expect(core.message).toBe('Local APIServices are always available');
    expect((await plane.get(`${services}/v1.apiregistration.${words.apiGroupDomain}`)).status).toBe(404);
  });

  test('definitions of custom resources add theirs, and remove them', async () => {
    const definitions = plane.path('apiextensions/v1', 'customresourcedefinitions');
    await using watch = await plane.watch(
      `${services}?watch=1&fieldSelector=metadata.name=v1.boats.example.com`,
    );
    await plane.post(definitions, {
      metadata: { name: 'boats.boats.example.com' },
      spec: {
        group: 'boats.example.com',
        scope: 'Cluster',
        names: { plural: 'boats', kind: 'Boat' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    });
    const made = await watch.next();
    expect(made).toMatchObject({
      type: 'ADDED',
      object: {
        spec: { group: 'boats.example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
      },
    });
    expect(Object.values(made?.object.metadata.labels ?? {})).toEqual(['true']);
    expect((await plane.get('/apis/boats.example.com/v1/boats')).status).toBe(200);
    await plane.delete(`${definitions}/boats.boats.example.com`);
    expect(await watch.take(1)).toEqual(['DELETED v1.boats.example.com']);
  });

  test('extension servers learn which authority to trust', async () => {
    const path = `/api/v1/namespaces/${words.systemNamespace}/configmaps/extension-apiserver-authentication`;
    // The server writes it after it is ready.
    const map = await eventually(async () => {
      const reply = await plane.get(path);
      return reply.status === 200 ? reply : undefined;
    });
    expect(map.body.data['requestheader-allowed-names']).toBe('["front-proxy-client"]');
    expect(map.body.data['requestheader-username-headers']).toBe('["X-Remote-User"]');
    expect(map.body.data['requestheader-group-headers']).toBe('["X-Remote-Group"]');
    expect(map.body.data['requestheader-extra-headers-prefix']).toBe('["X-Remote-Extra-"]');
    const clients = await readFile(`${plane.server.dir}/pki/ca.crt`, 'utf8');
    expect(map.body.data['client-ca-file']?.trim()).toBe(clients.trim());
    expect(map.body.data['requestheader-client-ca-file']).toContain('BEGIN CERTIFICATE');
  });

  describe('with an extension server', () => {
    let extension: Extension;
    beforeAll(async () => {
      extension = await aggregate(plane);
    });
    afterAll(() => extension[Symbol.asyncDispose]());

    test('it is available', async () => {
      const found = await plane.get(`${services}/${NAME}`);
      expect(conditionOf(found.body)).toMatchObject({ reason: 'Passed', message: 'all checks passed' });
      const { text } = await plane.get('/metrics');
      expect(text).toContain(`aggregator_unavailable_apiservice{name="${NAME}"} 0\n`);
    });

    test('requests arrive with the authenticated user, without headers of the client', async () => {
      const reply = await plane.get(`${BASE}/widgets?labelSelector=a%3Db`, {
        'x-remote-user': 'eve',
        'x-remote-group': 'eves',
        'x-remote-extra-scopes': 'all',
        'x-mine': '1',
      });
      expect(reply.status).toBe(200);
      const { headers, url } = reply.body as unknown as { headers: Record<string, string>; url: string };
      expect(url).toBe(`${BASE}/widgets?labelSelector=a%3Db`);
      expect(headers).toMatchObject({
        'x-remote-user': 'admin',
        'x-remote-group': 'system:masters, system:authenticated',
        'x-mine': '1',
      });
      expect(headers).not.toHaveProperty('x-remote-extra-scopes');
      expect(headers).not.toHaveProperty('authorization');
      const groups = extension.requests
        .at(-1)
        ?.rawHeaders.filter((_, at, all) => all[at - 1] === 'x-remote-group');
      expect(groups).toEqual(['system:masters', 'system:authenticated']);
      expect([...extension.clients]).toEqual(['front-proxy-client']);
    });

    test('bodies and failures pass through', async () => {
      const posted = await plane.post(`${BASE}/widgets`, { metadata: { name: 'w' } });
      expect([posted.status, posted.body]).toEqual([201, { metadata: { name: 'w' } }]);
      const missing = await plane.get(`${BASE}/widgets/missing`);
      expect([missing.status, missing.body.message]).toEqual([404, 'no such widget']);
    });

    test('a client without permission does not reach it', async () => {
      const before = extension.requests.length;
      const reply = await plane.as('').get(`${BASE}/widgets`);
      expect([reply.status, reply.body.reason]).toEqual([403, 'Forbidden']);
      expect(extension.requests.length).toBe(before);
    });

    test('watches stream event by event', async () => {
      await using watch = await plane.watch(`${BASE}/widgets?watch=1`);
      expect(await watch.take(1)).toEqual(['ADDED first']);
      extension.release();
      expect(await watch.take(1)).toEqual(['DELETED first']);
      expect(await watch.next()).toBeUndefined();
    });

    test('connections change their protocol', async () => {
      const { ca, cert, key } = plane.server.credentials();
      const { hostname, port } = new URL(plane.server.url);
      const socket = tlsConnect({ host: hostname, port: Number(port), ca, cert, key });
      await once(socket, 'secureConnect');
      socket.write(
        `GET ${BASE}/widgets/w/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
      );
      let seen = '';
      socket.on('data', (chunk: Buffer) => {
        seen += chunk.toString();
        if (seen.endsWith('\r\n\r\n')) socket.write('ping');
        if (seen.endsWith('ping')) socket.end();
      });
      await once(socket, 'close');
      expect(seen).toMatch(/^HTTP\/1.1 101 .*ping$/s);
      expect(extension.requests.at(-1)?.headers['x-remote-user']).toBe('admin');
    });

    test('redirects are not followed', async () => {
      const redirected = await plane.get(`${BASE}/widgets/redirect`);
      expect([redirected.status, redirected.headers['location']]).toEqual([502, undefined]);
      expect(redirected.body.message).toMatch(/redirect/);
    });

    test('discovery has its groups in the order of their priorities', async () => {
      const groups = await plane.get('/apis');
      const names = (groups.body as unknown as { groups: { name: string }[] }).groups.map(({ name }) => name);
      expect(names.slice(-2)).toEqual([GROUP, `metrics.${words.apiGroupDomain}`]);
      expect((await plane.get(BASE)).body).toMatchObject(WIDGETS);
      expect((await plane.get(`/apis/${GROUP}`)).body).toMatchObject({
        preferredVersion: { groupVersion: `${GROUP}/v1` },
      });
      const accept = `application/json;g=apidiscovery.${words.apiGroupDomain};v=v2;as=APIGroupDiscoveryList`;
      const wide = (await plane.get('/apis', { accept })).body.items.find(
        ({ metadata }) => metadata.name === GROUP,
      );
      expect(wide).toMatchObject({
        versions: [
          {
            version: 'v1',
            freshness: 'Current',
            resources: [
              { resource: 'gadgets', scope: 'Namespaced' },
              { resource: 'widgets', scope: 'Cluster' },
            ],
          },
        ],
      });
    });

    test('namespaces are emptied of what it has in them', async () => {
      await plane.post('/api/v1/namespaces', { metadata: { name: 'full' } });
      extension.gadgets.add('full').add('other');
      await using watch = await plane.watch('/api/v1/namespaces?watch=1&fieldSelector=metadata.name=full');
      await plane.delete('/api/v1/namespaces/full');
      for (;;) {
        const event = await watch.next();
        if (event === undefined || event.type === 'DELETED') break;
      }
      expect([...extension.gadgets]).toEqual(['other']);
      const deletion = extension.requests.find(({ method }) => method === 'DELETE');
      expect(deletion?.headers['x-remote-user']).toBe('system:apiserver:namespace-controller');
    });

    test('a server with another certificate is not believed, unless that is wanted', async () => {
      const name = `v2.${GROUP}`;
      const service = { namespace: 'extensions', name: 'widgets', port: extension.port };
      await plane.post(services, apiService(plane, { service }, name));
      const condition = await availability(plane, name, 'False');
      expect(condition.reason).toBe('FailedDiscoveryCheck');
      expect(condition.message).toContain(`https://localhost:${extension.port}/apis/${GROUP}/v2: `);
      await plane.patch(`${services}/${name}`, { spec: { insecureSkipTLSVerify: true } });
      expect(await availability(plane, name, 'True')).toMatchObject({ reason: 'Passed' });
      const listed = await plane.get(`/apis/${GROUP}`);
      expect(listed.body).toMatchObject({ versions: [{ version: 'v2' }, { version: 'v1' }] });
      expect((await plane.delete(`${services}/${name}`)).status).toBe(200);
      expect((await plane.get(`/apis/${GROUP}/v2/widgets`)).status).toBe(404);
    });
  });
});

describe('an extension server that is not there', () => {
  const plane = usePlane();
  const services = plane.path('apiregistration/v1', 'apiservices');
  const accept = `application/json;g=apidiscovery.${plane.words.apiGroupDomain};v=v2;as=APIGroupDiscoveryList`;

  test('is a stale group, and 503', async () => {
    const service = { namespace: 'default', name: 'nobody' };
    await plane.post(services, apiService(plane, { service }));
    expect(await availability(plane, NAME, 'False')).toMatchObject({
      reason: 'ServiceNotFound',
      message: 'service/nobody in "default" is not present',
    });
    for (const path of [BASE, `${BASE}/widgets`]) {
      const reply = await plane.get(path);
      expect([reply.status, reply.body.reason]).toEqual([503, 'ServiceUnavailable']);
    }
    expect((await plane.get('/metrics')).text).toContain(
      `aggregator_unavailable_apiservice{name="${NAME}"} 1\n`,
    );
    const groups = await plane.get('/apis', { accept });
    expect(groups.body.items.find(({ metadata }) => metadata.name === GROUP)).toMatchObject({
      versions: [{ version: 'v1', resources: [], freshness: 'Stale' }],
    });
  });

  test('holds namespaces, in which it may have something', async () => {
    await plane.post('/api/v1/namespaces', { metadata: { name: 'held' } });
    await using watch = await plane.watch('/api/v1/namespaces?watch=1&fieldSelector=metadata.name=held');
    await plane.delete('/api/v1/namespaces/held');
    const conditions = async (): Promise<readonly Record<string, string>[]> => {
      for (;;) {
        const event = await watch.next();
        const found = event?.object.status['conditions'] as Record<string, string>[] | undefined;
        if (event === undefined || found !== undefined) return found ?? [];
      }
    };
    const [first] = await conditions();
    expect(first).toMatchObject({
      type: 'NamespaceDeletionDiscoveryFailure',
      status: 'True',
      reason: 'DiscoveryFailed',
      message: `Discovery failed for some groups, 1 failing: ${GROUP}/v1: the server is currently unable to handle the request`,
    });
  });

  test('is looked for again when its service comes', async () => {
    await plane.post('/api/v1/namespaces/default/services', {
      metadata: { name: 'nobody' },
      spec: { ports: [{ port: 8443, targetPort: 1 }] },
    });
    const path = `${services}?watch=1&fieldSelector=metadata.name=${NAME}`;
    await using watch = await plane.watch(path);
    const next = async (reason: string): Promise<string> => {
      for (;;) {
        const event = await watch.next();
        if (event === undefined) throw new Error('the watch ended');
        if (conditionOf(event.object).reason === reason) return conditionOf(event.object).message;
      }
    };
    expect(await next('ServicePortError')).toBe('service/nobody in "default" is not listening on port 443');
    await plane.patch(`${services}/${NAME}`, { spec: { service: { port: 8443 } } });
    expect(await next('EndpointsNotFound')).toBe('cannot find endpoints for service/nobody in "default"');
    await plane.post(plane.path('discovery/v1', 'namespaces/default/endpointslices'), {
      metadata: { name: 'nobody-1', labels: { [`${plane.words.domain}/service-name`]: 'nobody' } },
      addressType: 'IPv4',
      endpoints: [],
      ports: [{ name: '', port: 1 }],
    });
    expect(await next('MissingEndpoints')).toContain('have no addresses with port name ""');
  });

  test('comes back as it was after a restart', async () => {
    await plane.delete(`${services}/v1.batch`);
    expect((await plane.get('/apis/batch/v1')).status).toBe(200);
    await plane.server.restart();
    expect(await availability(plane, 'v1.batch', 'True')).toMatchObject({ reason: 'Local' });
    expect((await plane.get(`${BASE}/widgets`)).status).toBe(503);
  });
});
