/** Defaults, validation and immutable fields of the kinds. Document 1 §9.5, and the table of defaults. */

import { beforeAll, describe, expect, test } from 'vitest';
import { isObject } from '#api/kit/object.ts';
import { samples, settled } from './kinds.ts';
import { type Json, MERGE, pod, type Reply, STRATEGIC, usePlane } from './support.ts';

const fieldsOf = ({ body }: Reply): readonly string[] =>
  (body.details?.causes ?? []).map(({ field = '' }) => field).toSorted((a, b) => (a < b ? -1 : 1));

/** Merges changes into an object; `null` takes away. */
function merged(base: unknown, change: unknown): unknown {
  if (!isObject(base) || !isObject(change)) return change;
  const result: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(change)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}

describe('kinds', () => {
  const plane = usePlane();
  const { words } = plane;
  const all = new Map(
    samples(words).map((sample) => [`${sample.plural} ${sample.apiVersion.split('/').at(-1)}`, sample]),
  );
  let names = 0;
  beforeAll(() => plane.post('/api/v1/nodes', { metadata: { name: 'n1' } }));

  /** Posts a changed sample of a kind. Returns its path and the response. */
  async function create(kind: string, change: Json = {}): Promise<Reply & { readonly one: string }> {
    const sample = all.get(kind) ?? all.get(`${kind} v1`) ?? all.get(`${kind} v1beta2`);
    if (sample === undefined) throw new Error(`no sample of ${kind}`);
    const base = /^(?:customresourcedefinitions|apiservices)/.test(kind)
      ? {}
      : { metadata: { name: `k-${(names += 1)}` } };
    const object = merged(merged(sample.object, base), change) as typeof sample.object;
    const reply = await plane.post(sample.path, object);
    return { ...reply, one: `${sample.path}/${object.metadata.name}` };
  }

  const template = (spec: Json): Json => ({ spec: { template: { spec } } });
  const containers = (...list: Json[]): Json => ({
    containers: list.map((each) => ({ name: 'main', image: 'busybox', ...each })),
  });
  const webhooks = (change: Json): Json => {
    const sample = all.get('validatingwebhookconfigurations v1')?.object['webhooks'] as readonly Json[];
    return { webhooks: [merged(sample[0], change)] };
  };

  test.each<[string, Json, Json]>([
    [
      'pods',
      {},
      {
        spec: {
          restartPolicy: 'Always',
          dnsPolicy: 'ClusterFirst',
          terminationGracePeriodSeconds: 30,
          schedulerName: 'default-scheduler',
          securityContext: {},
          enableServiceLinks: true,
          containers: [
            {
              imagePullPolicy: 'Always',
              terminationMessagePath: '/dev/termination-log',
              terminationMessagePolicy: 'File',
            },
          ],
        },
        status: { phase: 'Pending', qosClass: 'Burstable' },
      },
    ],
    [
      'pods',
      { spec: containers({ image: 'busybox:1.35' }) },
      { spec: { containers: [{ imagePullPolicy: 'IfNotPresent' }] } },
    ],
    [
      'pods',
      {
        spec: containers({
          resources: { limits: { cpu: '1' } },
          ports: [{ containerPort: 80 }],
          livenessProbe: { httpGet: { port: 80 } },
        }),
      },
      {
        spec: {
          containers: [
            {
              resources: { limits: { cpu: '1' }, requests: { cpu: '1' } },
              ports: [{ containerPort: 80, protocol: 'TCP' }],
              livenessProbe: {
                timeoutSeconds: 1,
                periodSeconds: 10,
                successThreshold: 1,
                failureThreshold: 3,
                httpGet: { path: '/', scheme: 'HTTP' },
              },
            },
          ],
        },
      },
    ],
    [
      'services',
      {},
      {
        spec: {
          type: 'ClusterIP',
          sessionAffinity: 'None',
          ipFamilyPolicy: 'SingleStack',
          ipFamilies: ['IPv4'],
          internalTrafficPolicy: 'Cluster',
          ports: [{ port: 80, targetPort: 80, protocol: 'TCP' }],
        },
      },
    ],
    [
      'services',
      { spec: { sessionAffinity: 'ClientIP' } },
      { spec: { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } } },
    ],
    [
      'services',
      { spec: { type: 'LoadBalancer' } },
      { spec: { allocateLoadBalancerNodePorts: true, externalTrafficPolicy: 'Cluster' } },
    ],
    ['namespaces', {}, { status: { phase: 'Active' }, spec: { finalizers: [words.namespaceFinalizer] } }],
    [
      'replicationcontrollers',
      {},
      { metadata: { labels: { app: 'sample' } }, spec: { replicas: 1, selector: { app: 'sample' } } },
    ],
    ['limitranges', {}, { spec: { limits: [{ default: { cpu: '2' }, defaultRequest: { cpu: '2' } }] } }],
    [
      'deployments',
      {},
      {
        spec: {
          replicas: 1,
          revisionHistoryLimit: 10,
          progressDeadlineSeconds: 600,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } },
        },
      },
    ],
    [
      'statefulsets',
      {},
      {
        spec: {
          replicas: 1,
          podManagementPolicy: 'OrderedReady',
          revisionHistoryLimit: 10,
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
        },
      },
    ],
    [
      'daemonsets',
      {},
      {
        spec: {
          revisionHistoryLimit: 10,
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
        },
      },
    ],
    ['replicasets', {}, { spec: { replicas: 1 } }],
    [
      'jobs',
      {},
      {
        spec: {
          completions: 1,
          parallelism: 1,
          backoffLimit: 6,
          completionMode: 'NonIndexed',
          suspend: false,
        },
      },
    ],
    [
      'cronjobs',
      {},
      {
        spec: {
          concurrencyPolicy: 'Allow',
          suspend: false,
          successfulJobsHistoryLimit: 3,
          failedJobsHistoryLimit: 1,
        },
      },
    ],
    ['horizontalpodautoscalers v1', {}, { spec: { minReplicas: 1, targetCPUUtilizationPercentage: 80 } }],
    [
      'horizontalpodautoscalers v2',
      {},
      {
        spec: {
          metrics: [
            {
              type: 'Resource',
              resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
            },
          ],
        },
      },
    ],
    ['networkpolicies', {}, { spec: { policyTypes: ['Ingress'] } }],
    ['networkpolicies', { spec: { egress: [{}] } }, { spec: { policyTypes: ['Ingress', 'Egress'] } }],
    ['priorityclasses', {}, { preemptionPolicy: 'PreemptLowerPriority' }],
    [
      'csidrivers',
      {},
      {
        spec: {
          attachRequired: true,
          podInfoOnMount: false,
          storageCapacity: false,
          fsGroupPolicy: 'ReadWriteOnceWithFSType',
          volumeLifecycleModes: ['Persistent'],
          requiresRepublish: false,
        },
      },
    ],
    [
      'rolebindings',
      { roleRef: { apiGroup: null } },
      { roleRef: { apiGroup: `rbac.authorization.${words.apiGroupDomain}` } },
    ],
    [
      'validatingwebhookconfigurations',
      {},
      {
        webhooks: [
          {
            failurePolicy: 'Fail',
            matchPolicy: 'Equivalent',
            timeoutSeconds: 10,
            objectSelector: {},
            rules: [{ scope: '*' }],
          },
        ],
      },
    ],
    ['mutatingwebhookconfigurations', {}, { webhooks: [{ reinvocationPolicy: 'Never' }] }],
    ['flowschemas', {}, { spec: { matchingPrecedence: 1000 } }],
    ['endpointslices', {}, { ports: [{ name: '', protocol: 'TCP' }] }],
    [
      'customresourcedefinitions',
      {},
      { spec: { names: { singular: 'sample', listKind: 'SampleList' }, conversion: { strategy: 'None' } } },
    ],
  ])('defaults of %s with %j', async (kind, change, expected) => {
    const { status, body } = await create(kind, change);
    expect({ status, message: body.message }).toEqual({ status: 201 });
    expect(body).toMatchObject(expected);
  });

  test.each<[string, Json, readonly string[]]>([
    ['pods', { spec: { containers: [] } }, ['spec.containers']],
    [
      'pods',
      {
        spec: {
          ...containers({ name: 'A', image: '' }),
          hostname: 'B',
          nodeSelector: { 'a b': 'c' },
        },
      },
      ['spec.containers[0].image', 'spec.containers[0].name', 'spec.hostname', 'spec.nodeSelector'],
    ],
    ['pods', { spec: containers({}, {}) }, ['spec.containers[1].name']],
    [
      'pods',
      { spec: containers({ volumeMounts: [{ name: 'none', mountPath: '' }] }) },
      ['spec.containers[0].volumeMounts[0].mountPath', 'spec.containers[0].volumeMounts[0].name'],
    ],
    [
      'pods',
      { spec: containers({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } }) },
      ['spec.containers[0].resources.requests[cpu]'],
    ],
    [
      'pods',
      { spec: { nodeSelector: { 'a b': 'c' }, hostname: 'A' } },
      ['spec.hostname', 'spec.nodeSelector'],
    ],
    [
      'services',
      { spec: { ports: [{ port: 0 }, { port: 80 }] } },
      ['spec.ports[0].name', 'spec.ports[0].port', 'spec.ports[0].targetPort', 'spec.ports[1].name'],
    ],
    ['services', { spec: { type: 'Sometimes' } }, ['spec.type']],
    ['services', { spec: { clusterIP: '10.0.0.5', clusterIPs: ['10.0.0.6'] } }, ['spec.clusterIPs']],
    [
      'endpoints',
      { subsets: [{ addresses: [{ ip: '127.0.0.1' }], ports: [{ port: 0 }] }] },
      ['subsets[0].addresses[0].ip', 'subsets[0].ports[0].port'],
    ],
    ['resourcequotas', { spec: { hard: { pods: '-1', 'a b': '1' } } }, ['spec.hard[a b]', 'spec.hard[pods]']],
    ['deployments', { spec: { replicas: -1, selector: null } }, ['spec.replicas', 'spec.selector']],
    [
      'deployments',
      { spec: { selector: { matchLabels: { app: 'other' } } } },
      ['spec.template.metadata.labels'],
    ],
    ['deployments', template({ restartPolicy: 'Never' }), ['spec.template.spec.restartPolicy']],
    [
      'deployments',
      { spec: { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } } },
      ['spec.strategy.rollingUpdate.maxUnavailable'],
    ],
    ['statefulsets', { spec: { selector: null } }, ['spec.selector']],
    ['replicasets', { spec: { selector: null } }, ['spec.selector']],
    ['jobs', { spec: { parallelism: -1, backoffLimit: -1 } }, ['spec.backoffLimit', 'spec.parallelism']],
    ['jobs', template({ restartPolicy: 'Always' }), ['spec.template.spec.restartPolicy']],
    [
      'cronjobs',
      { spec: { schedule: 'sometimes', concurrencyPolicy: 'X' } },
      ['spec.concurrencyPolicy', 'spec.schedule'],
    ],
    [
      'pods',
      { spec: { ...containers({ name: 'A', imagePullPolicy: 'Often' }), restartPolicy: 'Perhaps' } },
      ['spec.containers[0].imagePullPolicy', 'spec.containers[0].name', 'spec.restartPolicy'],
    ],
    [
      'services',
      {
        spec: {
          ports: [
            { name: 'a', port: 0 },
            { port: 80, protocol: 'X' },
          ],
        },
      },
      ['spec.ports[0].port', 'spec.ports[0].targetPort', 'spec.ports[1].name', 'spec.ports[1].protocol'],
    ],
    ['horizontalpodautoscalers v2', { spec: { minReplicas: 5, maxReplicas: 3 } }, ['spec.maxReplicas']],
    ['poddisruptionbudgets v1', { spec: { minAvailable: 1, maxUnavailable: 1 } }, ['spec']],
    [
      'ingresses',
      {
        spec: { rules: [{ host: 'A_b', http: { paths: [{ path: 'x', pathType: 'Exact', backend: {} }] } }] },
      },
      ['spec.rules[0].host', 'spec.rules[0].http.paths[0].backend', 'spec.rules[0].http.paths[0].path'],
    ],
    [
      'networkpolicies',
      { spec: { ingress: [{ from: [{ ipBlock: { cidr: 'x' } }] }] } },
      ['spec.ingress[0].from[0].ipBlock.cidr'],
    ],
    ['leases', { spec: { leaseDurationSeconds: 0 } }, ['spec.leaseDurationSeconds']],
    ['priorityclasses', { value: 2_000_000_000 }, ['value']],
    ['runtimeclasses', { handler: 'A b' }, ['handler']],
    [
      'clusterroles',
      { rules: [{ verbs: [], resources: ['pods'] }] },
      ['rules[0].apiGroups', 'rules[0].verbs'],
    ],
    [
      'rolebindings',
      { roleRef: { kind: 'X' }, subjects: [{ kind: 'Robot', name: '' }] },
      ['roleRef.kind', 'subjects[0].kind', 'subjects[0].name'],
    ],
    ['csinodes', { spec: { drivers: [{ name: 'd', nodeID: '' }] } }, ['spec.drivers[0].nodeID']],
    [
      'validatingwebhookconfigurations',
      webhooks({ name: 'bare', sideEffects: 'Some', timeoutSeconds: 31 }),
      ['webhooks[0].name', 'webhooks[0].sideEffects', 'webhooks[0].timeoutSeconds'],
    ],
    [
      'validatingwebhookconfigurations',
      webhooks({ clientConfig: { url: 'http://x/y' } }),
      ['webhooks[0].clientConfig.url'],
    ],
    ['endpointslices', { endpoints: [{ addresses: [] }] }, ['endpoints[0].addresses']],
    ['nodes', { spec: { taints: [{ key: 'a', effect: 'X' }] } }, ['spec.taints[0].effect']],
    ['certificatesigningrequests', { spec: { expirationSeconds: 599 } }, ['spec.expirationSeconds']],
    ['certificatesigningrequests', { spec: { signerName: null } }, ['spec.signerName']],
  ])('%s with %j is rejected, every validation error named', async (kind, change, fields) => {
    const reply = await create(kind, change);
    expect({ status: reply.status, fields: fieldsOf(reply) }).toEqual({ status: 422, fields });
    const [cause] = reply.body.details.causes ?? [];
    expect(reply.body).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'Invalid', code: 422 });
    expect(cause?.reason).toMatch(/^FieldValue[A-Z]/);
    expect(reply.body.message).toContain(cause?.message);
  });

  test.each<[string, Json, readonly string[]]>([
    [
      'deployments',
      { spec: { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } } },
      ['spec.selector'],
    ],
    [
      'replicasets',
      { spec: { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } } },
      ['spec.selector'],
    ],
    [
      'daemonsets',
      { spec: { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } } },
      ['spec.selector'],
    ],
    ['statefulsets', { spec: { serviceName: 'other' } }, ['spec']],
    [
      'statefulsets',
      { spec: { selector: { matchLabels: { app: 'x' } }, template: { metadata: { labels: { app: 'x' } } } } },
      ['spec'],
    ],
    ['jobs', { spec: { completions: 5 } }, ['spec.completions']],
    // Of no range, so that no service has it by chance.
    ['services', { spec: { clusterIP: '10.9.9.77', clusterIPs: ['10.9.9.77'] } }, ['spec.clusterIPs[0]']],
    ['endpointslices', { addressType: 'IPv6', endpoints: [{ addresses: ['fd00::1'] }] }, ['addressType']],
    ['priorityclasses', { value: 5 }, ['value']],
    ['runtimeclasses', { handler: 'other' }, ['handler']],
    ['rolebindings', { roleRef: { name: 'edit' } }, ['roleRef']],
    ['clusterrolebindings', { roleRef: { name: 'edit' } }, ['roleRef']],
    ['controllerrevisions', { data: { other: 'state' } }, ['data']],
    ['csidrivers', { spec: { attachRequired: false } }, ['spec.attachRequired']],
    ['csistoragecapacities', { storageClassName: 'other' }, ['storageClassName']],
    ['ingressclasses', { spec: { controller: 'example.com/other' } }, ['spec.controller']],
    ['customresourcedefinitions', { spec: { scope: 'Cluster' } }, ['spec.scope']],
    ['resourcequotas', { spec: { scopes: ['Terminating'] } }, ['spec.scopes']],
  ])('%s may not change by %j', async (kind, change, fields) => {
    const { one, status } = await create(kind);
    expect([201, 409]).toContain(status);
    const reply = await plane.patch(one, change);
    expect({ status: reply.status, fields: fieldsOf(reply) }).toEqual({ status: 422, fields });
  });

  test('unknown enum values are reported with other errors of a patch too', async () => {
    const { one } = await create('cronjobs');
    const spec = { schedule: 'sometimes', concurrencyPolicy: 'X' };
    for (const type of [MERGE, STRATEGIC]) {
      const reply = await plane.patch(one, { spec }, type);
      expect({ status: reply.status, fields: fieldsOf(reply) }).toEqual({
        status: 422,
        fields: ['spec.concurrencyPolicy', 'spec.schedule'],
      });
    }
    const put = await plane.put(one, merged((await plane.get(one)).body, { spec }));
    expect(fieldsOf(put)).toEqual(['spec.concurrencyPolicy', 'spec.schedule']);
    expect((await plane.patch(one, { spec: { schedule: '1 * * * *' } })).status).toBe(200);
  });

  test.each<[string, Json]>([
    ['image', { spec: { containers: [{ name: 'main', image: 'alpine' }] } }],
    ['activeDeadlineSeconds', { spec: { activeDeadlineSeconds: 100 } }],
    ['tolerations', { spec: { tolerations: [{ key: 'k', operator: 'Exists' }] } }],
  ])('a pod’s %s may change', async (_, patch) => {
    const { one } = await create('pods');
    const { status, body } = await plane.patch(one, patch, STRATEGIC);
    expect({ status, message: body.message }).toEqual({ status: 200 });
  });

  test.each<[string, Json]>([
    ['command', { spec: { containers: [{ name: 'main', command: ['x'] }] } }],
    ['node', { spec: { nodeName: 'n2' } }],
    ['restart policy', { spec: { restartPolicy: 'Never' } }],
    ['containers', { spec: { containers: [{ name: 'more', image: 'x' }] } }],
  ])('a pod’s %s may not', async (_, patch) => {
    const { one } = await create('pods');
    const reply = await plane.patch(one, patch, STRATEGIC);
    expect(reply.status).toBe(422);
    expect(fieldsOf(reply).every((field) => field.startsWith('spec'))).toBe(true);
  });

  test.each<[string, unknown, number]>([
    ['no object', '7', 400],
    ['no JSON', '{', 400],
    ['nothing', '', 400],
    ['a wrong type', { ...pod('x'), spec: { containers: 'none' } }, 400],
    ['another kind', { ...pod('x'), kind: 'Service' }, 400],
    ['another version', { ...pod('x'), apiVersion: 'v2' }, 400],
  ])('a body that is %s is 400', async (_, body, status) => {
    const reply = await plane.post('/api/v1/namespaces/default/pods', body);
    expect(reply).toMatchObject({ status, body: { kind: 'Status', reason: 'BadRequest' } });
  });

  const CAREFUL = [
    'apiservices',
    'controllerrevisions',
    'csidrivers',
    'csinodes',
    'csistoragecapacities',
    'customresourcedefinitions',
    'leases',
    'mutatingwebhookconfigurations',
    'poddisruptionbudgets',
    'runtimeclasses',
    'serviceaccounts',
    'validatingwebhookconfigurations',
    'volumeattachments',
  ];
  test.each([...all.keys()])('PUT of %s without a resourceVersion', async (kind) => {
    const { one, status } = await create(kind);
    expect([201, 409]).toContain(status);
    const body = await settled(plane, one, all.get(kind)?.kind ?? '');
    const { resourceVersion: version, ...metadata } = body.metadata;
    const reply = await plane.put(one, { ...body, metadata });
    const careful = CAREFUL.includes(kind.split(' ')[0] ?? '');
    expect({ status: reply.status, fields: careful ? fieldsOf(reply) : [] }).toEqual({
      status: careful ? 422 : 200,
      fields: careful ? ['metadata.resourceVersion'] : [],
    });
    expect(
      (await plane.put(one, { ...body, metadata: { ...metadata, resourceVersion: `${version}0` } })).status,
    ).toBe(409);
  });

  test('names follow the rules of their kinds', async () => {
    const rows: readonly (readonly [string, string, number])[] = [
      ['namespaces', 'a.b', 422],
      ['services', '1abc', 422],
      ['services', 'a.b', 422],
      ['pods', 'a.b', 201],
      ['clusterroles', 'system:any:Name', 201],
      ['clusterroles', 'a/b', 422],
      ['priorityclasses', 'system-mine', 422],
      ['customresourcedefinitions', 'other.example.com', 422],
    ];
    for (const [kind, name, status] of rows) {
      expect([kind, name, (await create(kind, { metadata: { name } })).status]).toEqual([kind, name, status]);
    }
  });
});
