/** Admission plugins with optional or required configuration files. Source: document 2 §2.3, 2.7 and 9. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { type ConversionWebhook, startConversionWebhook } from './conversion-webhook.ts';
import { type Body, type Json, pod, type Reply, usePlane, WAIT } from './support.ts';

interface ReviewRequest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {
    readonly containers: readonly { readonly image: string }[];
    readonly annotations?: Readonly<Record<string, string>>;
    readonly namespace: string;
  };
}

/** JSON is YAML. */
const write = (file: string, content: unknown): Promise<void> => writeFile(file, JSON.stringify(content));

const clientConfig = (server: ConversionWebhook, users: readonly Json[]): Json => ({
  apiVersion: 'v1',
  kind: 'Config',
  clusters: [
    { name: 'c', cluster: { server: `${server.url}/images`, 'certificate-authority-data': server.caBundle } },
  ],
  users,
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'me' } }],
  'current-context': 'x',
});

describe.each<VocabularyName>(['plat', 'kubernetes'])('configured in the %s vocabulary', (vocabulary) => {
  const { apiGroupDomain: domain, clientConfigFileMember: member } = VOCABULARIES[vocabulary];
  let server: ConversionWebhook;
  let verdict: (requested: ReviewRequest) => Json | number = () => ({ allowed: true });
  const reviews = (): readonly ReviewRequest[] => server.reviews as unknown as readonly ReviewRequest[];

  async function flags(dir: string): Promise<readonly string[]> {
    server = await startConversionWebhook((review) => {
      const requested = review as unknown as ReviewRequest & { readonly request?: { readonly uid: string } };
      const { apiVersion, kind, request } = requested;
      if (request !== undefined) return { apiVersion, kind, response: { uid: request.uid, allowed: true } };
      const said = verdict(requested);
      return typeof said === 'number' ? said : { apiVersion, kind, status: said };
    });
    const me = { name: 'me', user: { token: 'of-images' } };
    await write(`${dir}/images`, clientConfig(server, [me]));
    await write(
      `${dir}/hooks`,
      clientConfig(server, [
        { name: '127.0.0.1:*', user: {} },
        { ...me, name: '*' },
      ]),
    );
    await write(`${dir}/image-policy`, {
      imagePolicy: { [member]: 'images', allowTTL: -1, denyTTL: 60, retryBackoff: 1, defaultAllow: true },
    });
    await write(`${dir}/admission`, {
      apiVersion: `apiserver.config.${domain}/v1`,
      kind: 'AdmissionConfiguration',
      plugins: [
        { name: 'ImagePolicyWebhook', path: 'image-policy' },
        {
          name: 'PodNodeSelector',
          configuration: {
            podNodeSelectorPluginConfig: {
              clusterDefaultNodeSelector: 'disk=ssd',
              'ns-1': 'disk=ssd,zone=a',
            },
          },
        },
        {
          name: 'PodTolerationRestriction',
          configuration: {
            apiVersion: `podtolerationrestriction.admission.${domain}/v1alpha1`,
            kind: 'Configuration',
            default: [{ key: 'a', operator: 'Exists' }],
            whitelist: [{ key: 'a', operator: 'Exists' }],
          },
        },
        {
          name: 'PodSecurity',
          configuration: {
            apiVersion: `pod-security.admission.config.${domain}/v1beta1`,
            kind: 'PodSecurityConfiguration',
            defaults: { enforce: 'baseline', 'enforce-version': 'latest' },
            exemptions: { namespaces: ['free'] },
          },
        },
        {
          name: 'ValidatingAdmissionWebhook',
          configuration: {
            apiVersion: `apiserver.config.${domain}/v1`,
            kind: 'WebhookAdmissionConfiguration',
            [member]: 'hooks',
          },
        },
      ],
    });
    const plugins =
      'ImagePolicyWebhook,NamespaceAutoProvision,PersistentVolumeLabel,PodNodeSelector,PodTolerationRestriction';
    return [
      `--enable-admission-plugins=${plugins}`,
      '--disable-admission-plugins=DefaultTolerationSeconds,ServiceAccount',
      `--admission-control-config-file=${dir}/admission`,
      `--runtime-config=imagepolicy.${domain}/v1alpha1=true`,
    ];
  }

  const plane = usePlane(vocabulary, flags);
  afterAll(() => server[Symbol.asyncDispose]());
  let ns = '';
  const create = (name: string, spec: Json = {}, metadata: Json = {}): Promise<Reply> =>
    plane.post(`${ns}/pods`, pod(name, spec, metadata));
  beforeEach(async () => {
    verdict = () => ({ allowed: true });
    ns = await plane.namespace();
    server.reviews.length = 0;
    server.authorizations.length = 0;
  });

  test('ImagePolicyWebhook: the service reviews images by the annotations it is sent', async () => {
    const name = `my.image-policy.${domain}/ticket`;
    const containers = [{ name: 'a', image: 'one' }];
    const initContainers = [{ name: 'b', image: 'two' }];
    const made = await create(
      'p',
      { containers, initContainers },
      { annotations: { [name]: '1', other: '2' } },
    );
    expect(made.status).toBe(201);
    expect(reviews()).toMatchObject([
      {
        apiVersion: `imagepolicy.${domain}/v1alpha1`,
        kind: 'ImageReview',
        spec: {
          containers: [{ image: 'one' }, { image: 'two' }],
          annotations: { [name]: '1' },
          namespace: ns.split('/').at(-1),
        },
      },
    ]);
    expect(reviews()[0]?.spec.annotations).not.toHaveProperty('other');
    expect(server.authorizations).toEqual(['Bearer of-images']);
  });

  test('ImagePolicyWebhook: a denial is reported, and cached for a while', async () => {
    verdict = () => ({ allowed: false, reason: 'too old' });
    const refused = await create('p');
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'pods "p" is forbidden: image policy webhook backend denied one or more images: too old',
    ]);
    verdict = () => ({ allowed: true });
    expect((await create('q')).status).toBe(403);
    expect(reviews()).toHaveLength(1);
    expect((await create('q', { containers: [{ name: 'c', image: 'new' }] })).status).toBe(201);
  });

  test('ImagePolicyWebhook: calls are retried, and the default without a response is configurable', async () => {
    let left = 2;
    verdict = () => {
      left -= 1;
      return left >= 0 ? 503 : { allowed: false };
    };
    const refused = await create('p');
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'pods "p" is forbidden: one or more images rejected by webhook backend',
    ]);
    verdict = () => 400;
    const marked = await create('q', { containers: [{ name: 'c', image: 'other' }] });
    expect([marked.status, marked.body.metadata.annotations]).toEqual([
      201,
      { [`alpha.image-policy.${domain}/failed-open`]: 'true' },
    ]);
  });

  test('NamespaceAutoProvision: a namespace comes with the first object in it, and not for a dry run', async () => {
    const at = `/api/v1/namespaces/made-${vocabulary}`;
    const map = { metadata: { name: 'a' } };
    expect((await plane.post(`${at}/configmaps?dryRun=All`, map)).status).toBe(404);
    const made = await Promise.all(
      ['a', 'b', 'c'].map((name) => plane.post(`${at}/configmaps`, { metadata: { name } })),
    );
    expect(made.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect((await plane.get(at)).body.status['phase']).toBe('Active');
  });

  test('PodNodeSelector, PodTolerationRestriction: defaults for namespaces without annotations', async () => {
    const { status, body } = await create('p');
    const tolerations = [{ key: 'a', operator: 'Exists' }];
    expect([status, body.spec['nodeSelector'], body.spec['tolerations']]).toEqual([
      201,
      { disk: 'ssd' },
      tolerations,
    ]);
    const other = await create('q', { tolerations: [{ key: 'b', operator: 'Exists' }] });
    expect(other.body.message).toContain('conflict with its namespace whitelist');
    ns = '/api/v1/namespaces/ns-1';
    expect((await create('near', { nodeSelector: { zone: 'a' } })).status).toBe(201);
    const far = await create('far', { nodeSelector: { zone: 'b' } });
    expect(far.body.message).toContain(
      'pod node label selector labels conflict with its namespace whitelist',
    );
  });

  test('PodSecurity: a level for all namespaces, and who is left alone', async () => {
    expect((await create('p', { hostNetwork: true })).body.message).toContain(
      'violates PodSecurity "baseline:latest"',
    );
    ns = '/api/v1/namespaces/free';
    expect((await create('p', { hostNetwork: true })).status).toBe(201);
  });

  test('PersistentVolumeLabel: what only a cloud knows is refused unless it is said', async () => {
    const volume = (name: string, metadata: Json = {}, source: Json = {}): Json => ({
      metadata: { name, ...metadata },
      spec: {
        capacity: { storage: '1Gi' },
        accessModes: ['ReadWriteOnce'],
        ...(Object.keys(source).length === 0 ? { gcePersistentDisk: { pdName: 'disk' } } : source),
      },
    });
    const post = (body: Json): Promise<Reply> => plane.post('/api/v1/persistentvolumes', body);
    const refused = await post(volume('a'));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'persistentvolumes "a" is forbidden: error querying GCE PD volume disk: unable to build GCE cloud provider for PD',
    ]);
    const own = plane.words.domain;
    const labels = { [`topology.${own}/zone`]: 'z', [`topology.${own}/region`]: 'r' };
    const annotations = { [`pv.${own}/provisioned-by`]: 'x' };
    expect((await post(volume('b', { labels, annotations }))).status).toBe(201);
    expect((await post(volume('c', {}, { hostPath: { path: '/x' } }))).status).toBe(201);
  });

  test('WebhookAdmissionConfiguration: webhooks authenticate the server', async () => {
    const url = new URL(server.url);
    await plane.post(plane.path('admissionregistration/v1', 'validatingwebhookconfigurations'), {
      metadata: { name: 'hook' },
      webhooks: [
        {
          name: 'a.example.com',
          clientConfig: { url: `${url.origin}/hook`, caBundle: server.caBundle },
          rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    const sentTokens = async (): Promise<readonly string[]> => {
      await plane.post(`${ns}/secrets?dryRun=All`, { metadata: { name: 's' } });
      return server.authorizations;
    };
    await expect.poll(sentTokens, WAIT).toContain('Bearer of-images');
    expect(server.reviews.map(({ kind }: Pick<Body, 'kind'>) => kind)).toContain('AdmissionReview');
  });
});
