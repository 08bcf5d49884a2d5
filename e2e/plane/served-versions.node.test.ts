/** Served API versions, and lossless conversion between them. Document 1 §9.1 to 9.3. */
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type Json, usePlane, VOCABULARY_NAMES } from './support.ts';

describe('--runtime-config', () => {
  const plane = usePlane('plat', [
    '--runtime-config=batch/v1=false,autoscaling/v2/horizontalpodautoscalers=false',
    '--runtime-config=policy/v1beta1=false,batch/v1beta1=false',
  ]);

  test.each<[string, number]>([
    ['/apis/batch/v1/jobs', 404],
    ['/apis/batch/v1', 404],
    ['/apis/autoscaling/v2/horizontalpodautoscalers', 404],
    ['/apis/autoscaling/v1/horizontalpodautoscalers', 200],
    ['/apis/policy/v1beta1/podsecuritypolicies', 404],
    ['/apis/policy/v1/poddisruptionbudgets', 200],
    ['/apis/apps/v1/deployments', 200],
    ['/api/v1/pods', 200],
  ])('%s is %i', async (path, status) => {
    expect((await plane.get(path)).status).toBe(status);
  });

  test('discovery has what is served', async () => {
    const { body } = (await plane.get('/apis')) as unknown as {
      body: { groups: readonly { name: string; versions: readonly { version: string }[] }[] };
    };
    const versions = new Map(
      body.groups.map(({ name, versions: each }) => [name, each.map(({ version }) => version)]),
    );
    expect(versions.has('batch')).toBe(false);
    expect(versions.get('policy')).toEqual(['v1']);
    expect(versions.get('apps')).toEqual(['v1']);
  });
});

describe('an object in several versions', () => {
  const plane = usePlane();
  const without = (object: unknown): Json => ({ ...(object as Json), apiVersion: '' });

  test('poddisruptionbudgets are the same in policy/v1 and policy/v1beta1', async () => {
    const folder = (await plane.namespace()).replace('/api/v1', '');
    const old = `/apis/policy/v1beta1${folder}/poddisruptionbudgets`;
    const now = `/apis/policy/v1${folder}/poddisruptionbudgets`;
    const spec = { minAvailable: '50%', selector: { matchLabels: { app: 'a' } } };
    const made = await plane.post(old, { metadata: { name: 'a' }, spec });
    expect(made).toMatchObject({ status: 201, body: { apiVersion: 'policy/v1beta1', spec } });
    const seen = (await plane.get(`${now}/a`)).body;
    expect(seen.apiVersion).toBe('policy/v1');
    expect(without(seen)).toEqual(without(made.body));
    expect((await plane.put(`${now}/a`, seen)).body.metadata.resourceVersion).toBe(
      seen.metadata.resourceVersion,
    );
    await using stream = await plane.watch(`${old}?watch=1`);
    expect((await stream.next())?.object).toMatchObject({
      apiVersion: 'policy/v1beta1',
      metadata: { name: 'a' },
    });
  });

  test('csistoragecapacities are the same in v1 and v1beta1', async () => {
    const namespace = (await plane.namespace()).split('/').at(-1) ?? '';
    const at = (version: string): string =>
      plane.path(`storage/${version}`, `namespaces/${namespace}/csistoragecapacities`);
    const object = {
      metadata: { name: 'c' },
      storageClassName: 'fast',
      capacity: '5Gi',
      nodeTopology: { matchLabels: { z: 'a' } },
    };
    const made = (await plane.post(at('v1beta1'), object)).body;
    const seen = (await plane.get(`${at('v1')}/c`)).body;
    expect(without(seen)).toEqual(without(made));
    expect([made.apiVersion, seen.apiVersion]).toEqual([
      `storage.${plane.words.apiGroupDomain}/v1beta1`,
      `storage.${plane.words.apiGroupDomain}/v1`,
    ]);
  });

  test('autoscaling/v1 stores fields that it lacks in annotations', async () => {
    const namespace = (await plane.namespace()).split('/').at(-1) ?? '';
    const at = (version: string): string =>
      `/apis/autoscaling/${version}/namespaces/${namespace}/horizontalpodautoscalers`;
    const spec = {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' },
      minReplicas: 2,
      maxReplicas: 5,
      metrics: [
        {
          type: 'Resource',
          resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '100Mi' } },
        },
        {
          type: 'Resource',
          resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 70 } },
        },
      ],
      behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
    };
    const made = (await plane.post(at('v2'), { metadata: { name: 'a' }, spec })).body;
    const old = (await plane.get(`${at('v1')}/a`)).body;
    expect(old.spec).toMatchObject({ minReplicas: 2, maxReplicas: 5, targetCPUUtilizationPercentage: 70 });
    expect(old.spec).not.toHaveProperty('metrics');
    expect(Object.keys(old.metadata.annotations ?? {})).not.toEqual([]);
    const put = await plane.put(`${at('v1')}/a`, { ...old, spec: { ...old.spec, maxReplicas: 6 } });
    expect(put.status).toBe(200);
    const after = (await plane.get(`${at('v2')}/a`)).body;
    expect(after.spec).toEqual({ ...made.spec, maxReplicas: 6 });
    expect(after.metadata.annotations).toBeUndefined();
  });

  test('events are the same in both groups', async () => {
    const folder = await plane.namespace();
    const namespace = folder.split('/').at(-1) ?? '';
    const involvedObject = { kind: 'Pod', namespace, name: 'web' };
    const source = { component: 'test', host: 'n1' };
    await plane.post(`${folder}/events`, {
      metadata: { name: 'e' },
      involvedObject,
      reason: 'Started',
      message: 'text',
      type: 'Normal',
      source,
      count: 3,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:00:05Z',
    });
    const { body } = await plane.get(plane.path('events/v1', `namespaces/${namespace}/events/e`));
    expect(body).toMatchObject({
      regarding: involvedObject,
      note: 'text',
      deprecatedSource: source,
      deprecatedCount: 3,
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
    });
    const again = await plane.put(plane.path('events/v1', `namespaces/${namespace}/events/e`), body);
    expect([200, 422]).toContain(again.status);
    expect((await plane.get(`${folder}/events/e`)).body).toMatchObject({
      involvedObject,
      message: 'text',
      source,
      count: 3,
    });
  });
});

/** An object with everything that differs between the versions of its kind, in the version that is stored. */
interface Sample {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** The stored one first. */
  readonly versions: readonly string[];
  readonly object: Json;
  /** Its fields in an older version. */
  readonly shown?: Readonly<Record<string, Json>>;
}

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a' };
const selector = { matchLabels: { a: 'b' } };
const resource = (name: string, target: Json): Json => ({ type: 'Resource', resource: { name, target } });
const metrics = [
  resource('memory', { type: 'AverageValue', averageValue: '100Mi' }),
  {
    type: 'Pods',
    pods: { metric: { name: 'p', selector }, target: { type: 'AverageValue', averageValue: '5' } },
  },
  {
    type: 'Object',
    object: {
      describedObject: { kind: 'Service', name: 's' },
      metric: { name: 'o' },
      target: { type: 'Value', value: '7' },
    },
  },
  {
    type: 'External',
    external: { metric: { name: 'e', selector }, target: { type: 'AverageValue', averageValue: '9' } },
  },
  // Last, where version 1 puts it.
  resource('cpu', { type: 'Utilization', averageUtilization: 70 }),
];

const samples = ({ domain }: { readonly domain: string }): Readonly<Record<string, Sample>> => ({
  'a CronJob': {
    group: 'batch',
    plural: 'cronjobs',
    namespaced: true,
    versions: ['v1', 'v1beta1'],
    object: {
      spec: {
        schedule: '* * * * *',
        suspend: true,
        jobTemplate: {
          metadata: { labels: { a: 'b' } },
          spec: {
            template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i:1' }] } },
          },
        },
      },
    },
  },
  'an EndpointSlice': {
    group: 'discovery',
    plural: 'endpointslices',
    namespaced: true,
    versions: ['v1', 'v1beta1'],
    object: {
      addressType: 'IPv4',
      endpoints: [
        {
          addresses: ['10.0.0.1'],
          conditions: { ready: true },
          nodeName: 'n1',
          zone: 'z1',
          hints: { forZones: [{ name: 'z2' }] },
        },
        { addresses: ['10.0.0.2'], conditions: {} },
      ],
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
    },
    shown: {
      v1beta1: {
        endpoints: [
          {
            nodeName: 'n1',
            topology: { [`topology.${domain}/zone`]: 'z1' },
            hints: { forZones: [{ name: 'z2' }] },
          },
          { addresses: ['10.0.0.2'] },
        ],
      },
    },
  },
  'an Event': {
    group: 'events',
    plural: 'events',
    namespaced: true,
    versions: ['v1', 'v1beta1'],
    object: {
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'i',
      action: 'Start',
      reason: 'Started',
      type: 'Normal',
      note: 'text',
      series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' },
    },
    shown: { v1beta1: { note: 'text', series: { count: 2 } } },
  },
  'a RuntimeClass': {
    group: 'node',
    plural: 'runtimeclasses',
    namespaced: false,
    versions: ['v1', 'v1beta1'],
    object: { handler: 'h', overhead: { podFixed: { cpu: '10m' } } },
    shown: { v1beta1: { handler: 'h' } },
  },
  'a HorizontalPodAutoscaler': {
    group: 'autoscaling',
    plural: 'horizontalpodautoscalers',
    namespaced: true,
    versions: ['v2', 'v1', 'v2beta2', 'v2beta1'],
    object: {
      spec: {
        scaleTargetRef,
        minReplicas: 2,
        maxReplicas: 5,
        metrics,
        behavior: { scaleDown: { stabilizationWindowSeconds: 60 } },
      },
    },
    shown: {
      v2beta2: { spec: { metrics } },
      v2beta1: {
        metadata: {
          annotations: { [`autoscaling.alpha.${domain}/behavior`]: expect.stringContaining('60') as string },
        },
        spec: {
          metrics: [
            { type: 'Resource', resource: { name: 'memory', targetAverageValue: '100Mi' } },
            { type: 'Pods', pods: { metricName: 'p', selector, targetAverageValue: '5' } },
            { type: 'Object', object: { target: { name: 's' }, metricName: 'o', targetValue: '7' } },
            {
              type: 'External',
              external: { metricName: 'e', metricSelector: selector, targetAverageValue: '9' },
            },
            { type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 70 } },
          ],
        },
      },
    },
  },
  'a FlowSchema': {
    group: 'flowcontrol.apiserver',
    plural: 'flowschemas',
    namespaced: false,
    versions: ['v1beta2', 'v1beta1'],
    object: { spec: { priorityLevelConfiguration: { name: 'global' }, matchingPrecedence: 500 } },
    shown: { v1beta1: { spec: { matchingPrecedence: 500 } } },
  },
  'a PriorityLevelConfiguration': {
    group: 'flowcontrol.apiserver',
    plural: 'prioritylevelconfigurations',
    namespaced: false,
    versions: ['v1beta2', 'v1beta1'],
    object: { spec: { type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } } },
    shown: { v1beta1: { spec: { limited: { limitResponse: { queuing: { queues: 64 } } } } } },
  },
});

/** Ages differ from one second to the next. */
const ageless = (cell: unknown): unknown => (typeof cell === 'string' && /^\d+s$/.test(cell) ? 'age' : cell);

describe.each(VOCABULARY_NAMES)(
  'an object of a kind with beta versions, in the %s vocabulary',
  (vocabulary) => {
    // With it the server itself writes the status of a new FlowSchema.
    const plane = usePlane(vocabulary, ['--enable-priority-and-fairness=false']);
    const all = Object.entries(samples(VOCABULARIES[vocabulary]));

    test.each(all)('%s is the same in every version that is served', async (_, sample) => {
      const { group, plural, namespaced, versions, object, shown = {} } = sample;
      const [stored = '', ...older] = versions;
      const namespace = namespaced ? ((await plane.namespace()).split('/').at(-1) ?? '') : '';
      const rest = namespaced ? `namespaces/${namespace}/${plural}` : plural;
      const at = (version: string): string =>
        group === 'batch' || group === 'autoscaling'
          ? `/apis/${group}/${version}/${rest}`
          : plane.path(`${group}/${version}`, rest);
      const regarding = plural === 'events' ? { regarding: { kind: 'Pod', namespace, name: 'p' } } : {};
      const made = await plane.post(at(stored), { metadata: { name: 'a' }, ...object, ...regarding });
      expect(made.status).toBe(201);
      for (const version of older) {
        const path = `${at(version)}/a`;
        const seen = await plane.get(path);
        expect(seen.headers['warning'] !== undefined).toBe(version !== 'v1');
        expect(seen.body).toMatchObject(shown[version] ?? {});
        // Nothing changes when an older client reads and writes, and nothing is lost.
        const { resourceVersion } = (await plane.put(path, seen.body)).body.metadata;
        expect(resourceVersion).toBe(made.body.metadata.resourceVersion);
        const bytes = (await plane.get(path, { accept: plane.words.protobufContentType })).bytes;
        expect(plane.protobuf.decode(bytes)).toMatchObject(shown[version] ?? {});
        const accept = `application/json;as=Table;g=meta.${plane.words.apiGroupDomain};v=v1`;
        const [row, storedRow] = await Promise.all(
          [version, stored].map(async (each) => (await plane.get(`${at(each)}/a`, { accept })).body.rows[0]),
        );
        expect(row?.cells.map(ageless)).toEqual(storedRow?.cells.map(ageless));
        const twin = {
          ...seen.body,
          metadata: { name: `twin-${version}`, annotations: seen.body.metadata.annotations },
        };
        expect((await plane.post(at(version), { ...twin, status: undefined })).status).toBe(201);
        expect((await plane.get(`${at(stored)}/twin-${version}`)).body).toMatchObject(object);
      }
    });
  },
);
