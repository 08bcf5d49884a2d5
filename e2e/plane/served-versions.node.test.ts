/** Versions: which are served, and objects going from one to another without loss. Document 1, 9.1 to 9.3. */
import { describe, expect, test } from 'vitest';
import { type Json, usePlane } from './support.ts';

describe('--runtime-config', () => {
  const plane = usePlane('plat', [
    '--runtime-config=batch/v1=false,autoscaling/v2/horizontalpodautoscalers=false',
    '--runtime-config=policy/v1beta1=false',
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

  test('what autoscaling/v1 has no members for it keeps in annotations', async () => {
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
