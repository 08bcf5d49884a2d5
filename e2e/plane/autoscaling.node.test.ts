/** Autoscaling of kinds and by metrics that are not built in: custom resources, and an extension server that has a kind of
 *  its own and the custom and external metrics. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HorizontalPodAutoscaler, MetricSpec } from '#api/gen/autoscaling-v2.ts';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { eventually } from '../../testing/wait.ts';
import { apiService, availability } from './extension-server.ts';
import { usePlane } from './support.ts';

const plane = usePlane('kubernetes', [
  '--controllers=horizontalpodautoscaling',
  '--horizontal-pod-autoscaler-sync-period=1s',
]);
const { apiGroupDomain } = plane.words;
const FLEETS = 'fleets.example.com';
const GROUPS = [FLEETS, `custom.metrics.${apiGroupDomain}`, `external.metrics.${apiGroupDomain}`];
const AT = '2026-01-01T00:00:00Z';
/** Of several calculations on a busy machine. */
const PATIENCE = { timeoutMs: 60_000 };

let server: Server;
/** Size of the extension server's only fleet. */
let size = 1;
/** User and path of the requests of the autoscaler. */
const seen = new Set<string>();

const value = (name: string): object => ({ describedObject: { name }, timestamp: AT, value: '30' });
const scale = (): object => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { name: 'one', namespace: 'default' },
  spec: { replicas: size },
  status: { replicas: size, selector: 'app=fleet' },
});

async function respond(message: IncomingMessage, reply: ServerResponse): Promise<void> {
  const { pathname } = new URL(message.url ?? '', 'https://extension');
  const [, , group = '', , ...rest] = pathname.split('/');
  const path = rest.join('/');
  const user = String(message.headers['x-remote-user']);
  if (user.endsWith(':horizontal-pod-autoscaler')) seen.add(`${message.method} ${group}/${path}`);
  const body: Buffer[] = [];
  for await (const piece of message) body.push(piece as Buffer);
  if (message.method === 'PUT')
    size = (JSON.parse(Buffer.concat(body).toString()) as { spec: { replicas: number } }).spec.replicas;
  const verbs = ['get', 'update'];
  const resources =
    group === FLEETS
      ? [
          { name: 'fleets', singularName: '', namespaced: true, kind: 'Fleet', verbs },
          { name: 'fleets/scale', singularName: '', namespaced: true, kind: 'Scale', verbs },
        ]
      : [];
  const results: Readonly<Record<string, object>> = {
    '': { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1beta1`, resources },
    'namespaces/default/fleets/one/scale': scale(),
    'namespaces/default/services/web/hits': { items: [value('web')] },
    'namespaces/default/queue': { items: [value('a'), value('b')] },
  };
  reply.statusCode = results[path] === undefined ? 404 : 200;
  const missing = { kind: 'Status', status: 'Failure', message: `no metric at ${path}` };
  reply.setHeader('Content-Type', 'application/json').end(JSON.stringify(results[path] ?? missing));
}

const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';

/** Creates an autoscaler from 2 to 9 replicas. */
async function autoscale(name: string, target: object, metrics: readonly MetricSpec[]): Promise<void> {
  const spec = { scaleTargetRef: target, minReplicas: 2, maxReplicas: 9, metrics };
  const created = await plane.post(autoscalers, { metadata: { name }, spec });
  expect(created.status).toBe(201);
}

async function condition(name: string, type: string): Promise<string | undefined> {
  const { status } = (await plane.get(`${autoscalers}/${name}`)).body as unknown as HorizontalPodAutoscaler;
  const found = status?.conditions?.find((each) => each.type === type);
  return found && `${found.reason}: ${found.message}`;
}

beforeAll(async () => {
  const from = new Date(Date.now() - 60_000);
  const to = new Date(Date.now() + 3_600_000);
  const authority = createAuthority({ commonName: 'extension-ca' }, from, to);
  const { certificate: cert, key } = issueIdentity(authority, {
    subject: { commonName: 'extension' },
    dnsNames: ['extension.default.svc'],
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: to,
  });
  server = createServer({ cert, key }, (message, reply) => void respond(message, reply));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await plane.post('/api/v1/namespaces/default/services', {
    metadata: { name: 'extension' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const spec = {
    service: { namespace: 'default', name: 'extension', port: (server.address() as AddressInfo).port },
    caBundle: Buffer.from(authority.certificate).toString('base64'),
  };
  for (const group of GROUPS) {
    const name = `v1beta1.${group}`;
    await plane.post(plane.path('apiregistration/v1', 'apiservices'), apiService(plane, spec, name));
    await availability(plane, name, 'True');
  }
});

afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});

const external = (name: string): MetricSpec => ({
  type: 'External',
  external: { metric: { name }, target: { type: 'AverageValue', averageValue: '20' } },
});

test('an aggregated kind is scaled by an external metric', async () => {
  await autoscale('fleet', { apiVersion: `${FLEETS}/v1beta1`, kind: 'Fleet', name: 'one' }, [
    external('queue'),
  ]);
  // From 1 to the minimum of 2, then to 60 / 20.
  await eventually(() => size === 3, PATIENCE);
  await eventually(
    async () => (await condition('fleet', 'ScalingActive'))?.startsWith('ValidMetricFound'),
    PATIENCE,
  );
  expect([...seen]).toEqual(
    expect.arrayContaining([
      `PUT ${FLEETS}/namespaces/default/fleets/one/scale`,
      `GET external.metrics.${apiGroupDomain}/namespaces/default/queue`,
    ]),
  );
});

test('a custom resource is scaled by a custom metric', async () => {
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer' } } },
      status: { type: 'object', properties: { size: { type: 'integer' }, selector: { type: 'string' } } },
    },
  };
  const defined = await plane.post(plane.path('apiextensions/v1', 'customresourcedefinitions'), {
    metadata: { name: 'crews.example.org' },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural: 'crews', singular: 'crew', kind: 'Crew', listKind: 'CrewList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.size',
              statusReplicasPath: '.status.size',
              labelSelectorPath: '.status.selector',
            },
          },
        },
      ],
    },
  });
  expect(defined.status).toBe(201);
  const crews = '/apis/example.org/v1/namespaces/default/crews';
  const crew = { apiVersion: 'example.org/v1', kind: 'Crew', metadata: { name: 'c' }, spec: { size: 2 } };
  await eventually(async () => (await plane.post(crews, crew)).status === 201, PATIENCE);
  await plane.patch(`${crews}/c/status`, { status: { size: 2, selector: 'app=crew' } });
  await autoscale('crew', { apiVersion: 'example.org/v1', kind: 'Crew', name: 'c' }, [
    {
      type: 'Object',
      object: {
        describedObject: { apiVersion: 'v1', kind: 'Service', name: 'web' },
        metric: { name: 'hits' },
        target: { type: 'AverageValue', averageValue: '6' },
      },
    },
  ]);
  await eventually(async () => (await plane.get(`${crews}/c`)).body.spec['size'] === 4, PATIENCE);
  await plane.patch(`${crews}/c/status`, { status: { size: 4 } });
  await eventually(async () => (await plane.get(`${crews}/c`)).body.spec['size'] === 5, PATIENCE);
});

test('the reason of an extension server is in the condition', async () => {
  await autoscale('lost', { apiVersion: `${FLEETS}/v1beta1`, kind: 'Fleet', name: 'one' }, [
    external('absent'),
  ]);
  const found = await eventually(() => condition('lost', 'ScalingActive'), PATIENCE);
  expect(found).toBe(
    'FailedGetExternalMetric: the HPA was unable to compute the replica count: unable to get external metric default/absent(nil): unable to fetch metrics from external metrics API: no metric at namespaces/default/absent',
  );
});
