/** Feature gates of the API server at both values. Feature gates, document 3 §4.4. */
import { describe, expect, test } from 'vitest';
import { type Body, configMap, type Json, type Plane, usePlane } from './support.ts';

const GATES = [
  'APIListChunking',
  'APIResponseCompression',
  'EphemeralContainers',
  'GRPCContainerProbe',
  'MixedProtocolLBService',
  'OpenAPIEnums',
  'OpenAPIV3',
  'PodSecurity',
  'RemainingItemCount',
  'ServerSideFieldValidation',
  'StorageVersionHash',
  'MinDomainsInPodTopologySpread',
  'ProcMountType',
  'ProbeTerminationGracePeriod',
  'ReadWriteOncePod',
];

const flagOf = (value: boolean): string =>
  `--feature-gates=${GATES.map((name) => `${name}=${value}`).join(',')}`;

const podWith = (name: string, container: Json, spec: Json = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'c', image: 'i', ...container }], ...spec },
});

/** Has a field of each of three gates that are off by default. */
const GATED = podWith(
  'gated',
  {
    securityContext: { procMount: 'Unmasked' },
    livenessProbe: { tcpSocket: { port: 80 }, terminationGracePeriodSeconds: 3 },
  },
  {
    topologySpreadConstraints: [
      {
        topologyKey: 'zone',
        maxSkew: 1,
        minDomains: 2,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { a: 'b' } },
      },
    ],
  },
);

const itemsOf = ({ items }: Body): number => items.length;

describe.each([
  ['on', true],
  ['off', false],
])('gates that are %s', (_, isOn) => {
  const plane: Plane = usePlane('plat', [flagOf(isOn)]);

  test('APIListChunking and RemainingItemCount decide whether lists have pages', async () => {
    const maps = `${await plane.namespace()}/configmaps`;
    for (const name of ['a', 'b', 'c']) await plane.post(maps, configMap(name));
    const first = await plane.get(`${maps}?limit=1`);
    expect(itemsOf(first.body)).toBe(isOn ? 1 : 3);
    const { continue: token, remainingItemCount } = first.body.metadata;
    expect([token !== undefined, remainingItemCount]).toEqual(isOn ? [true, 2] : [false, undefined]);
  });

  test('APIResponseCompression decides whether lists are compressed', async () => {
    const maps = `${await plane.namespace()}/configmaps`;
    await plane.post(maps, { ...configMap('large'), data: { text: 'x'.repeat(200_000) } });
    const { headers } = await plane.get(maps, { 'accept-encoding': 'gzip' });
    expect(headers['content-encoding']).toBe(isOn ? 'gzip' : undefined);
  });

  test('OpenAPIV3, OpenAPIEnums and StorageVersionHash decide what describes the API', async () => {
    expect((await plane.get('/openapi/v3')).status).toBe(isOn ? 200 : 404);
    const { text } = await plane.get('/openapi/v2');
    expect(text.includes('"IfNotPresent"')).toBe(isOn);
    expect((await plane.get('/api/v1')).text.includes('storageVersionHash')).toBe(isOn);
  });

  test('ServerSideFieldValidation decides whether unknown fields can be rejected', async () => {
    const maps = `${await plane.namespace()}/configmaps`;
    const body = { ...configMap('a'), nonsense: 1 };
    expect((await plane.post(`${maps}?fieldValidation=Strict`, body)).status).toBe(isOn ? 400 : 201);
  });

  test('fields of pods are kept or dropped', async () => {
    const pods = `${await plane.namespace()}/pods`;
    const { status, body } = await plane.post(pods, GATED);
    expect(status).toBe(201);
    const kept = [
      /"procMount":"Unmasked"/,
      /"minDomains":2/,
      /"livenessProbe":[^}]*\}[^}]*"terminationGracePeriodSeconds":3/,
    ].map((pattern) => pattern.test(JSON.stringify(body.spec)));
    expect(kept).toEqual([isOn, isOn, isOn]);
  });

  test('GRPCContainerProbe decides whether a probe may be of that kind', async () => {
    const pods = `${await plane.namespace()}/pods`;
    const pod = podWith('probed', { readinessProbe: { grpc: { port: 80 } } });
    // The probe that is left has no handler.
    expect((await plane.post(pods, pod)).status).toBe(isOn ? 201 : 422);
  });

  test('EphemeralContainers decides whether the subresource exists', async () => {
    const pods = `${await plane.namespace()}/pods`;
    await plane.post(pods, podWith('a', {}));
    expect((await plane.get(`${pods}/a/ephemeralcontainers`)).status).toBe(isOn ? 200 : 404);
    expect((await plane.get('/api/v1')).text.includes('pods/ephemeralcontainers')).toBe(isOn);
  });

  test('ReadWriteOncePod decides whether claims may have the mode', async () => {
    const claims = `${await plane.namespace()}/persistentvolumeclaims`;
    const { status } = await plane.post(claims, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'a' },
      spec: { accessModes: ['ReadWriteOncePod'], resources: { requests: { storage: '1Gi' } } },
    });
    expect(status).toBe(isOn ? 201 : 422);
  });

  test('MixedProtocolLBService decides whether a load balancer may have two protocols', async () => {
    const services = `${await plane.namespace()}/services`;
    const { status } = await plane.post(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'a' },
      spec: {
        type: 'LoadBalancer',
        ports: [
          { name: 'a', port: 80, protocol: 'TCP' },
          { name: 'b', port: 80, protocol: 'UDP' },
        ],
      },
    });
    expect(status).toBe(isOn ? 201 : 422);
  });

  test('PodSecurity decides whether the levels of namespaces are enforced', async () => {
    const namespace = await plane.namespace();
    const label = `pod-security.${plane.words.domain}/enforce`;
    await plane.patch(namespace, { metadata: { labels: { [label]: 'restricted' } } });
    const pod = podWith('privileged', { securityContext: { privileged: true } });
    expect((await plane.post(`${namespace}/pods`, pod)).status).toBe(isOn ? 403 : 201);
  });
});
