/** Upstream's metrics server and command-line client with a node: the test's server scrapes
 *  `/metrics/resource` twice, computes rates, and serves them behind an APIService. */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthority, issueIdentity } from '#api/pki/certificate.ts';
import { eventually } from '../../testing/wait.ts';
import { sh } from '../lifecycle/support.ts';
import { apiService, availability } from '../plane/extension-server.ts';
import { useKubectl } from '../plane-clients/kubectl.ts';
import { useNode } from './support.ts';

const node = useNode();
const kubectl = useKubectl(() => node.plane.server.platconfigFile);
const GROUP = `metrics.${node.plane.words.apiGroupDomain}`;
const VERSION = `${GROUP}/v1beta1`;

interface Point {
  readonly value: number;
  readonly atMs: number;
}

/** Samples by name and labels, with their timestamps, which a rate requires. */
async function scrape(): Promise<ReadonlyMap<string, Point>> {
  const { cert, key } = node.plane.server.credentials();
  const place = { host: '127.0.0.1', port: node.port(), path: '/metrics/resource' };
  const text = await new Promise<string>((resolve, reject) => {
    request({ ...place, cert, key, rejectUnauthorized: false, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.once('end', () => resolve(body));
    })
      .once('error', reject)
      .end();
  });
  return new Map(
    [...text.matchAll(/^(\w+(?:\{.*\})?) (\S+) (\d{13})$/gm)].map(([, name = '', value, at]) => [
      name,
      { value: Number(value), atMs: Number(at) },
    ]),
  );
}

type Scrape = Awaited<ReturnType<typeof scrape>>;

/** Usage in the form of the API; undefined unless both scrapes have it, one after the other. */
function usage([before, after]: readonly [Scrape, Scrape], subject: string, labels = '') {
  const cpu = `${subject}_cpu_usage_seconds_total${labels}`;
  const [first, last, memory] = [
    before.get(cpu),
    after.get(cpu),
    after.get(`${subject}_memory_working_set_bytes${labels}`),
  ];
  if (first === undefined || last === undefined || memory === undefined || last.atMs <= first.atMs)
    return undefined;
  const cores = ((last.value - first.value) * 1000) / (last.atMs - first.atMs);
  return { cpu: `${Math.round(cores * 1e9)}n`, memory: `${Math.round(memory.value / 1024)}Ki` };
}

/** Waits until the timestamps of all samples have advanced. */
async function scrapeTwice(pod: string): Promise<readonly [Scrape, Scrape]> {
  const labels = `{container="main",namespace="default",pod="${pod}"}`;
  const first = await eventually(async () => {
    const scraped = await scrape();
    return scraped.has(`container_cpu_usage_seconds_total${labels}`) ? scraped : undefined;
  });
  return eventually(async () => {
    const both = [first, await scrape()] as const;
    return usage(both, 'node') !== undefined && usage(both, 'container', labels) !== undefined
      ? both
      : undefined;
  });
}

let pod: string;
let server: Server;

function respond(
  both: readonly [Scrape, Scrape],
  { url = '' }: IncomingMessage,
  reply: ServerResponse,
): void {
  const path = new URL(url, 'https://metrics').pathname.slice(`/apis/${VERSION}`.length);
  const meta = { timestamp: new Date().toISOString(), window: '1s' };
  const labels = `{container="main",namespace="default",pod="${pod}"}`;
  const nodes = [{ metadata: { name: 'n1' }, ...meta, usage: usage(both, 'node') }];
  const containers = [{ name: 'main', usage: usage(both, 'container', labels) }];
  const pods = [{ metadata: { name: pod, namespace: 'default' }, ...meta, containers }];
  const list = (kind: string, items: readonly object[]) => ({
    kind: `${kind}List`,
    apiVersion: VERSION,
    metadata: {},
    items,
  });
  const resource = (name: string, kind: string, namespaced: boolean) => ({
    name,
    singularName: '',
    namespaced,
    kind,
    verbs: ['get', 'list'],
  });
  const resources = [resource('nodes', 'NodeMetrics', false), resource('pods', 'PodMetrics', true)];
  const results: Readonly<Record<string, object>> = {
    '': { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: VERSION, resources },
    '/nodes': list('NodeMetrics', nodes),
    '/namespaces/default/pods': list('PodMetrics', pods),
    '/pods': list('PodMetrics', pods),
  };
  reply.statusCode = results[path] === undefined ? 404 : 200;
  reply.setHeader('Content-Type', 'application/json').end(JSON.stringify(results[path] ?? {}));
}

beforeAll(async () => {
  // Busy, but at most a tenth of a CPU.
  pod = await node.run('busy', {
    containers: [
      sh('main', 'while :; do :; done', { resources: { limits: { cpu: '100m', memory: '64Mi' } } }),
    ],
  });
  const both = await scrapeTwice(pod);
  const from = new Date(Date.now() - 60_000);
  const to = new Date(Date.now() + 3_600_000);
  const authority = createAuthority({ commonName: 'metrics-ca' }, from, to);
  const { certificate: cert, key } = issueIdentity(authority, {
    subject: { commonName: 'metrics' },
    dnsNames: ['metrics.extensions.svc'],
    extendedUsages: ['serverAuth'],
    notBefore: from,
    notAfter: to,
  });
  server = createServer({ cert, key }, (message, reply) => respond(both, message, reply));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { plane } = node;
  await plane.post('/api/v1/namespaces', { metadata: { name: 'extensions' } });
  await plane.post('/api/v1/namespaces/extensions/services', {
    metadata: { name: 'metrics' },
    spec: { type: 'ExternalName', externalName: 'localhost' },
  });
  const spec = {
    service: { namespace: 'extensions', name: 'metrics', port: (server.address() as AddressInfo).port },
    caBundle: Buffer.from(authority.certificate).toString('base64'),
  };
  const name = `v1beta1.${GROUP}`;
  await plane.post(plane.path('apiregistration/v1', 'apiservices'), apiService(plane, spec, name));
  await availability(plane, name, 'True');
  await plane.patch('/api/v1/nodes/n1/status', {
    status: { capacity: { cpu: '2', memory: '16Gi' }, allocatable: { cpu: '2', memory: '16Gi' } },
  });
});

afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
});

test('the stock client’s top shows nodes', async () => {
  const [, row = []] = await kubectl.table('top nodes');
  expect(row[0]).toBe('n1');
  expect(Number(row[1]?.replace('m', ''))).toBeGreaterThan(0);
  expect(row[2]).toMatch(/^\d+%$/);
  expect(Number(row[3]?.replace('Mi', ''))).toBeGreaterThan(0);
});

test('the stock client’s top shows pods, by their containers, with processor time as it is used', async () => {
  const [, row = []] = await kubectl.table('top pods --containers');
  expect(row.slice(0, 2).toSorted()).toEqual([pod, 'main'].toSorted());
  const millicores = Number(row[2]?.replace('m', ''));
  expect(millicores).toBeGreaterThan(0);
  expect(millicores).toBeLessThan(500);
  expect(row[3]).toMatch(/^\d+Mi$/);
});

describe('the server’s own metrics API', () => {
  const name = `v1beta1.${GROUP}`;
  /** The service of the APIService. */
  const service = async (): Promise<string | undefined> => {
    const [, row = []] = await kubectl.table(`get apiservice ${name}`);
    return row[1];
  };

  test('gives way to the extension server, on every path', async () => {
    expect(await service()).toBe('extensions/metrics');
    const { body } = await node.plane.get(`/apis/${VERSION}/pods`);
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual([pod]);
    // The extension server only serves lists.
    expect((await node.plane.get(`/apis/${VERSION}/nodes/n1`)).status).toBe(404);
    const groups = (await node.plane.get('/apis')).body as unknown as {
      readonly groups: readonly { readonly name: string }[];
    };
    expect(groups.groups.filter((group) => group.name === GROUP)).toHaveLength(1);
  });

  test('is back soon after the extension server’s registration is removed, and can be replaced again', async () => {
    const own = (await node.plane.get(node.plane.path('apiregistration/v1', `apiservices/${name}`))).body;
    await kubectl.ok(`delete apiservice ${name}`);
    await eventually(async () => (await kubectl.run(`get apiservice ${name}`)).code === 0);
    expect(await service()).toBe('Local');
    // On a busy machine the first scrapes may take longer than a request waits for them.
    const metrics = await eventually(async () => {
      const { status, body } = await node.plane.get(`/apis/${VERSION}/nodes/n1`);
      return status === 200 && body;
    });
    expect(metrics).toMatchObject({ kind: 'NodeMetrics' });
    const { metadata, spec } = own;
    const again = { kind: 'APIService', apiVersion: own.apiVersion, metadata: { name: metadata.name }, spec };
    await kubectl.ok('apply -f -', { input: again });
    await availability(node.plane, name, 'True');
    expect(await service()).toBe('extensions/metrics');
    expect((await node.plane.get(`/apis/${VERSION}/nodes/n1`)).status).toBe(404);
  });
});
