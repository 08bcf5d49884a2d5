/** Admission plugins that are off unless they are enabled: PodSecurityPolicy, EventRateLimit,
 *  ExtendedResourceToleration, AlwaysAdmit and AlwaysDeny, and the metrics of admission. Source: document 2 §2.7. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { ADMISSION_PLUGINS } from '#plane/admission/names.ts';
import { type Json, type Plane, type Reply, usePlane, WAIT } from './support.ts';

const { domain: DOMAIN, apiGroupDomain: API } = VOCABULARIES.kubernetes;

const CONTAINER = { name: 'c', image: 'i' };
const pod = (spec: Json = {}): Json => ({
  metadata: { generateName: 'p-' },
  spec: { containers: [CONTAINER], ...spec },
});

describe('enabled one by one', () => {
  const plane = usePlane('kubernetes', async (dir) => {
    const configuration = {
      apiVersion: `eventratelimit.admission.${API}/v1alpha1`,
      kind: 'Configuration',
      limits: [{ type: 'Namespace', qps: 1, burst: 2 }],
    };
    const admission = {
      apiVersion: `apiserver.config.${API}/v1`,
      kind: 'AdmissionConfiguration',
      plugins: [{ name: 'EventRateLimit', configuration }],
    };
    await writeFile(`${dir}/tokens`, 'ann,ann,1\nbob,bob,2\n');
    await writeFile(`${dir}/admission`, JSON.stringify(admission));
    return [
      `--token-auth-file=${dir}/tokens`,
      `--admission-control-config-file=${dir}/admission`,
      '--enable-admission-plugins=AlwaysAdmit,EventRateLimit,ExtendedResourceToleration,PodSecurityPolicy',
      '--disable-admission-plugins=ServiceAccount',
    ];
  });

  const ANY = { rule: 'RunAsAny' };
  const strategies = { seLinux: ANY, runAsUser: ANY, supplementalGroups: ANY, fsGroup: ANY };
  async function makePolicy(name: string, spec: Json): Promise<void> {
    const made = await plane.post('/apis/policy/v1beta1/podsecuritypolicies', {
      metadata: { name },
      spec: { ...strategies, ...spec },
    });
    expect(made.status).toBe(201);
  }
  /** Lets a user write everything of the core group in a namespace, and use a policy there. */
  async function letUse(at: string, user: string, policies: readonly string[]): Promise<void> {
    const folder = at.replace('/api/v1', `/apis/rbac.authorization.${API}/v1`);
    await plane.post(`${folder}/roles`, {
      metadata: { name: user },
      rules: [
        { verbs: ['*'], apiGroups: [''], resources: ['*'] },
        {
          verbs: ['use'],
          apiGroups: ['policy'],
          resources: ['podsecuritypolicies'],
          resourceNames: policies,
        },
      ],
    });
    const made = await plane.post(`${folder}/rolebindings`, {
      metadata: { name: user },
      roleRef: { apiGroup: `rbac.authorization.${API}`, kind: 'Role', name: user },
      subjects: [{ apiGroup: `rbac.authorization.${API}`, kind: 'User', name: user }],
    });
    expect(made.status).toBe(201);
  }

  test('PodSecurityPolicy: pods are as a policy allows that their author may use', async () => {
    const at = await plane.namespace();
    const create = (user: string, spec: Json = {}): Promise<Reply> =>
      plane.as(user).post(`${at}/pods`, pod(spec));
    const refusedWithout = await plane.post(`${at}/pods`, pod());
    expect([refusedWithout.status, refusedWithout.body.message]).toEqual([
      403,
      expect.stringContaining('PodSecurityPolicy: no providers available to validate pod request'),
    ]);
    await makePolicy('a-restricted', { runAsUser: { rule: 'MustRunAsNonRoot' }, volumes: ['emptyDir'] });
    await makePolicy('z-privileged', { privileged: true, hostNetwork: true, volumes: ['*'] });
    await letUse(at, 'ann', ['a-restricted']);
    await letUse(at, 'bob', ['a-restricted', 'z-privileged']);
    await expect.poll(async () => (await create('ann')).body.message, WAIT).toBeUndefined();

    const { body: restricted } = await create('ann');
    expect(restricted.metadata.annotations).toEqual({ [`${DOMAIN}/psp`]: 'a-restricted' });
    expect(restricted.spec['containers']).toEqual([
      expect.objectContaining({ securityContext: { runAsNonRoot: true } }),
    ]);
    // The policy that changes nothing goes before the first.
    const { body: open } = await create('bob');
    expect(open.metadata.annotations).toEqual({ [`${DOMAIN}/psp`]: 'z-privileged' });

    expect((await create('bob', { hostNetwork: true })).status).toBe(201);
    const { status, body } = await create('ann', { hostNetwork: true });
    expect([status, body.message]).toEqual([
      403,
      expect.stringContaining(
        'PodSecurityPolicy: unable to admit pod: [spec.securityContext.hostNetwork: Invalid value: true: Host network is not allowed to be used]',
      ),
    ]);

    const path = `${at}/pods/${open.metadata.name}`;
    const label = { metadata: { labels: { a: 'b' } } };
    expect((await plane.as('bob').patch(path, label)).status).toBe(200);
    const changed = await plane.as('ann').patch(path, { metadata: { labels: { a: 'c' } } });
    expect([changed.status, changed.body.message]).toEqual([
      403,
      expect.stringContaining('PodSecurityPolicy: unable to validate pod: '),
    ]);
    const finalizers = { metadata: { finalizers: ['example.com/x'] } };
    expect((await plane.as('ann').patch(path, finalizers)).status).toBe(200);
    const debug = { name: 'd', image: 'i', securityContext: { privileged: true } };
    const debugging = await plane
      .as('ann')
      .patch(`${at}/pods/${restricted.metadata.name}/ephemeralcontainers`, {
        spec: { ephemeralContainers: [debug] },
      });
    expect([debugging.status, debugging.body.message]).toEqual([
      403,
      expect.stringContaining('spec.ephemeralContainers[0].securityContext.privileged'),
    ]);
  });

  test('EventRateLimit: a namespace has its share of events', async () => {
    const [one, two] = [await plane.namespace(), await plane.namespace()];
    const write = (at: string, name: string): Promise<Reply> =>
      plane.post(`${at}/events`, {
        metadata: { name },
        involvedObject: { kind: 'Pod', namespace: at.split('/').at(-1), name: 'p' },
      });
    const replies = [
      await write(one, 'a'),
      await write(one, 'b'),
      await write(one, 'c'),
      await write(two, 'd'),
    ];
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 429, 201]);
    expect(replies[2]?.body).toMatchObject({
      reason: 'TooManyRequests',
      message: `Too many requests: limit reached on type Namespace for key ${one.split('/').at(-1)}`,
    });
    expect(replies[2]?.headers['retry-after']).toBeUndefined();
  });

  test('ExtendedResourceToleration: pods tolerate the taint of what they request', async () => {
    const at = await plane.namespace();
    const resources = { requests: { 'example.com/gpu': '1' }, limits: { 'example.com/gpu': '1' } };
    const { body } = await plane.post(
      `${at}/pods?dryRun=All`,
      pod({ containers: [{ ...CONTAINER, resources }] }),
    );
    expect(body.spec['tolerations']).toContainEqual({
      key: 'example.com/gpu',
      operator: 'Exists',
      effect: 'NoSchedule',
    });
  });

  test('the metrics of admission have upstream’s names', async () => {
    const { text } = await plane.get('/metrics');
    expect(text).toMatch(
      /apiserver_admission_controller_admission_duration_seconds_count\{name="EventRateLimit",type="validate",operation="CREATE",rejected="true"\} 1\n/,
    );
    expect(text).toMatch(
      /apiserver_admission_step_admission_duration_seconds_bucket\{type="admit",operation="CREATE",rejected="false",le="0\.005"\} \d+\n/,
    );
    expect(text).toContain('apiserver_webhooks_x509_missing_san_total 0');
  });
});

describe('AlwaysDeny', () => {
  const plane: Plane = usePlane('plat', ['--enable-admission-plugins=AlwaysDeny']);

  test('denies every change, and no read', async () => {
    const made = await plane.post('/api/v1/namespaces', { metadata: { name: 'a' } });
    expect([made.status, made.body.message]).toEqual([
      403,
      'namespaces "a" is forbidden: admission control is denying all modifications',
    ]);
    expect((await plane.get('/api/v1/namespaces')).status).toBe(200);
    expect((await plane.delete('/api/v1/nodes/none')).status).toBe(404);
  });
});

describe('every plugin of upstream', () => {
  const off = ADMISSION_PLUGINS.map(({ name }) => name).join(',');
  const plane = usePlane('plat', [`--disable-admission-plugins=${off}`]);

  test('may be disabled', async () => {
    expect((await plane.post('/api/v1/namespaces', { metadata: { name: 'a' } })).status).toBe(201);
  });
});
