/** Admission webhooks. Source: document 2 §2.2, 2.6, 2.7 and 7. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { VocabularyName } from '#api/vocabulary.ts';
import { type ConversionWebhook, startConversionWebhook } from './conversion-webhook.ts';
import { type Json, usePlane, WAIT } from './support.ts';

interface ReviewRequest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: Json & { readonly uid: string; readonly name?: string };
}
type Judge = (request: ReviewRequest['request'], path: string) => Json;

const patchOf = (operations: readonly Json[]): Json => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});

describe.each<VocabularyName>(['plat', 'kubernetes'])('webhooks in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary);
  let server: ConversionWebhook;
  let at: string;
  let judge: Judge;
  const requested: ReviewRequest[] = [];
  const configurations = plane.path('admissionregistration/v1', '');

  beforeAll(async () => {
    server = await startConversionWebhook((review) => {
      // The server of the other webhooks, with another question.
      const question = review as unknown as ReviewRequest;
      requested.push(question);
      const { apiVersion, kind, request } = question;
      return {
        apiVersion,
        kind,
        response: { uid: request.uid, ...judge(request, server.paths.at(-1) ?? '') },
      };
    });
  });
  afterAll(() => server[Symbol.asyncDispose]());
  beforeEach(async () => {
    at = await plane.namespace();
    judge = () => ({ allowed: true });
    requested.length = 0;
  });

  const hook = (name: string, change: Json = {}): Json => ({
    name: `${name}.example.com`,
    clientConfig: { url: `${server.url}/${name}`, caBundle: server.caBundle },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    namespaceSelector: { matchLabels: { [`${words.domain}/metadata.name`]: at.split('/').at(-1) } },
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...change,
  });
  const { words } = plane;

  /** Configures, waits until it counts, and has it taken away in the end. */
  async function configure(
    kind: 'mutating' | 'validating',
    webhooks: readonly Json[],
  ): Promise<AsyncDisposable> {
    const path = `${configurations}${kind}webhookconfigurations`;
    const name = `${kind}-${at.split('/').at(-1) ?? ''}`;
    await plane.post(path, { metadata: { name }, webhooks });
    const probe = async (): Promise<number> => {
      await plane.post(`${at}/configmaps?dryRun=All`, { metadata: { name: 'probe' } });
      return requested.length;
    };
    await expect.poll(probe, WAIT).toBeGreaterThan(0);
    requested.length = 0;
    return {
      [Symbol.asyncDispose]: async () => {
        await plane.delete(`${path}/${name}`);
      },
    };
  }

  const create = (name: string, more: Json = {}, query = '') =>
    plane.post(`${at}/configmaps${query}`, { metadata: { name }, ...more });

  test('are called as the document requires', async () => {
    await using _ = await configure('validating', [hook('a')]);
    await create('m', { data: { a: 'b' } });
    const [first] = requested;
    expect(first).toMatchObject({
      apiVersion: `admission.${words.apiGroupDomain}/v1`,
      kind: 'AdmissionReview',
      request: {
        kind: { group: '', version: 'v1', kind: 'ConfigMap' },
        resource: { group: '', version: 'v1', resource: 'configmaps' },
        requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
        requestResource: { group: '', version: 'v1', resource: 'configmaps' },
        name: 'm',
        namespace: at.split('/').at(-1),
        operation: 'CREATE',
        userInfo: { username: 'admin' },
        object: { kind: 'ConfigMap', metadata: { name: 'm' }, data: { a: 'b' } },
        oldObject: null,
        dryRun: false,
        options: { kind: 'CreateOptions', apiVersion: `meta.${words.apiGroupDomain}/v1` },
      },
    });
    await plane.patch(`${at}/configmaps/m`, { data: { a: 'c' } });
    await plane.delete(`${at}/configmaps/m`);
    expect(requested.slice(1)).toMatchObject([
      { request: { operation: 'UPDATE', object: { data: { a: 'c' } }, oldObject: { data: { a: 'b' } } } },
      { request: { operation: 'DELETE', object: null, oldObject: { data: { a: 'c' } } } },
    ]);
  });

  test('reject with a message of their own', async () => {
    await using _ = await configure('validating', [hook('a'), hook('b')]);
    judge = ({ name }, path) => {
      if (name === 'probe' || path.includes('/a?')) return { allowed: true, warnings: ['look out'] };
      return name === 'plain'
        ? { allowed: false }
        : { allowed: false, status: { code: 409, message: 'not so' } };
    };
    const [marked, plain] = await Promise.all([create('m'), create('plain')]);
    expect([marked.status, marked.body.message, plain.status, plain.body.message]).toEqual([
      409,
      'admission webhook "b.example.com" denied the request: not so',
      400,
      'admission webhook "b.example.com" denied the request without explanation',
    ]);
    expect(String(marked.headers['warning'])).toContain('look out');
  });

  test('change objects, each the result of the one before', async () => {
    await using _ = await configure('mutating', [hook('a', { reinvocationPolicy: 'IfNeeded' }), hook('b')]);
    judge = ({ name, object }, path) => {
      if (name === 'probe') return { allowed: true };
      if (path.includes('/b?')) return patchOf([{ op: 'add', path: '/data/b', value: 'of b' }]);
      const { data = {} } = object as { data?: Json };
      return patchOf([{ op: 'add', path: '/data', value: { ...data, a: Object.keys(data).join() } }]);
    };
    const { status, body } = await create('m');
    expect([status, body.data]).toEqual([201, { a: 'a,b', b: 'of b' }]);
    expect(requested).toHaveLength(3);
  });

  test('change large objects, with large patches, like small ones', async () => {
    await using _ = await configure('mutating', [hook('a'), hook('b')]);
    const many = (value: string): Readonly<Record<string, string>> =>
      Object.fromEntries(Array.from({ length: 40_000 }, (_each, index) => [`k${index}`, value]));
    const seen: unknown[] = [];
    judge = ({ name, object }, path) => {
      if (name === 'probe') return { allowed: true };
      const { data = {} } = object as { data?: Json };
      seen.push(data);
      if (path.includes('/a?')) return patchOf([{ op: 'replace', path: '/data', value: many('of a') }]);
      return patchOf([
        { op: 'test', path: '/data', value: data },
        { op: 'add', path: '/data/b', value: 'of b' },
      ]);
    };
    const { status, body } = await create('large', { data: many('') });
    expect(status).toBe(201);
    expect(seen).toEqual([many(''), many('of a')]);
    expect(body.data).toEqual({ ...many('of a'), b: 'of b' });
    judge = () => patchOf([{ op: 'add', path: '/data/c', value: 7 }]);
    expect((await create('larger', { data: many('') })).status).toBe(500);
  });

  test('that make nonsense fail the request', async () => {
    await using _ = await configure('mutating', [hook('a')]);
    judge = ({ name }) =>
      name === 'probe' ? { allowed: true } : patchOf([{ op: 'add', path: '/data', value: 7 }]);
    expect((await create('m')).status).toBe(500);
  });

  test('that are unavailable fail the request, unless that is nothing to them', async () => {
    const away = { clientConfig: { url: 'https://127.0.0.1:1/' }, timeoutSeconds: 1 };
    await using _ = await configure('validating', [
      hook('a'),
      hook('b', { ...away, failurePolicy: 'Ignore' }),
      hook('c', { ...away, objectSelector: { matchLabels: { strict: 'yes' } } }),
    ]);
    expect((await create('m')).status).toBe(201);
    const strict = await plane.post(`${at}/configmaps`, {
      metadata: { name: 's', labels: { strict: 'yes' } },
    });
    expect([strict.status, strict.body.message]).toEqual([
      500,
      expect.stringContaining('failed calling webhook "c.example.com"'),
    ]);
  });

  test('are counted under upstream’s names', async () => {
    const away = { clientConfig: { url: 'https://127.0.0.1:1/' }, timeoutSeconds: 1 };
    judge = (_, path) =>
      path.includes('judge') ? { allowed: false, status: { code: 418 } } : { allowed: true };
    await using _ = await configure('validating', [
      hook('good'),
      hook('open', { ...away, failurePolicy: 'Ignore' }),
    ]);
    expect((await create('m')).status).toBe(201);
    await using mutating = await configure('mutating', [hook('judge')]);
    expect(mutating).toBeDefined();
    expect((await create('n')).status).toBe(418);
    const { text } = await plane.get('/metrics');
    const of = (name: string, type: string): string => `name="${name}.example.com",type="${type}"`;
    const metric = 'apiserver_admission_webhook';
    for (const line of [
      `${metric}_admission_duration_seconds_count{${of('good', 'validating')},operation="CREATE",rejected="false"}`,
      `${metric}_request_total{${of('good', 'validating')},operation="CREATE",code="200",rejected="false"}`,
      `${metric}_request_total{${of('open', 'validating')},operation="CREATE",code="400",rejected="false"}`,
      `${metric}_fail_open_count{${of('open', 'validating')}}`,
      `${metric}_request_total{${of('judge', 'admit')},operation="CREATE",code="418",rejected="true"}`,
      `${metric}_rejection_count{${of('judge', 'admit')},operation="CREATE",error_type="no_error",rejection_code="418"}`,
    ])
      expect(text).toContain(`${line} `);
  });

  test('with side effects cannot be configured, and others see dryRun', async () => {
    const path = `${configurations}validatingwebhookconfigurations`;
    const name = `effects-${at.split('/').at(-1) ?? ''}`;
    await plane.post(path, { metadata: { name }, webhooks: [hook('a')] });
    // The API takes no such webhook any more; stores from before may have one.
    const bad = await plane.post(path, {
      metadata: { name: 'b' },
      webhooks: [hook('b', { sideEffects: 'Some' })],
    });
    expect(bad.status).toBe(422);
    await expect
      .poll(async () => {
        await create('probe', {}, '?dryRun=All');
        return requested.map(({ request }) => request['dryRun']);
      }, WAIT)
      .toContain(true);
    await plane.delete(`${path}/${name}`);
  });

  test('whose policy is Equivalent see every version as the one that they name', async () => {
    const rules = [
      { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] },
      {
        operations: ['*'],
        apiGroups: ['autoscaling'],
        apiVersions: ['v2'],
        resources: ['horizontalpodautoscalers'],
      },
    ];
    const scaler = (name: string): Json => ({
      metadata: { name },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 50,
      },
    });
    const v1 = at.replace('/api/v1/', '/apis/autoscaling/v1/');
    const path = `${v1}/horizontalpodautoscalers`;
    {
      await using _ = await configure('mutating', [
        hook('a', { rules }),
        hook('b', { rules, matchPolicy: 'Exact' }),
      ]);
      judge = ({ resource }) =>
        (resource as Json)['version'] === 'v2'
          ? patchOf([
              { op: 'replace', path: '/spec/metrics/0/resource/target/averageUtilization', value: 70 },
            ])
          : { allowed: true };
      const made = await plane.post(path, scaler('m'));
      expect(made.body).toMatchObject({
        apiVersion: 'autoscaling/v1',
        spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 70 },
      });
      const scalers = { group: 'autoscaling', resource: 'horizontalpodautoscalers' };
      expect(requested.map(({ request }) => request)).toMatchObject([
        {
          kind: { group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
          resource: { ...scalers, version: 'v2' },
          requestKind: { group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' },
          requestResource: { ...scalers, version: 'v1' },
          object: { apiVersion: 'autoscaling/v2', spec: { metrics: [{ type: 'Resource' }] } },
        },
      ]);
    }
    judge = () => ({ allowed: true });
    await using _ = await configure('validating', [hook('a', { rules })]);
    expect((await plane.patch(`${path}/m`, { spec: { maxReplicas: 5 } })).status).toBe(200);
    await plane.delete(`${path}/m`);
    expect(requested.map(({ request }) => request)).toMatchObject([
      {
        object: { apiVersion: 'autoscaling/v2', spec: { maxReplicas: 5 } },
        oldObject: { apiVersion: 'autoscaling/v2', spec: { maxReplicas: 3 } },
      },
      { operation: 'DELETE', object: null, oldObject: { apiVersion: 'autoscaling/v2' } },
    ]);
  });

  test('see only what their rules and selectors choose', async () => {
    await using _ = await configure('validating', [hook('a')]);
    const other = await plane.namespace();
    await plane.post(`${other}/configmaps`, { metadata: { name: 'm' } });
    await plane.post(`${at}/secrets`, { metadata: { name: 'm' } });
    expect(requested).toHaveLength(0);
  });
});

describe('--disable-admission-plugins', () => {
  const plane = usePlane('plat', ['--disable-admission-plugins=ValidatingAdmissionWebhook']);

  test('calls no webhook', async () => {
    const at = await plane.namespace();
    const path = plane.path('admissionregistration/v1', 'validatingwebhookconfigurations');
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['configmaps'] }];
    const clientConfig = { url: 'https://127.0.0.1:1/' };
    const webhook = {
      name: 'a.b.c',
      clientConfig,
      rules,
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    };
    await plane.post(path, { metadata: { name: 'all' }, webhooks: [webhook] });
    expect((await plane.post(`${at}/configmaps`, { metadata: { name: 'm' } })).status).toBe(201);
  });
});
