/** Admission plugins: mutation and validation of each. Source: document 2 §2.7. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { VocabularyName } from '#api/vocabulary.ts';
import { usePlane, WAIT } from './support.ts';

const CONTAINER = { name: 'c', image: 'i' };
/** Pods need no objects except those of the tests. */
const PLUGINS = ['--controllers=namespace', '--disable-admission-plugins=ServiceAccount'];

const pod = (name: string, spec: object = {}) => ({
  metadata: { name },
  spec: { containers: [CONTAINER], ...spec },
});

describe.each<VocabularyName>(['plat', 'kubernetes'])('admission in the %s vocabulary', (vocabulary) => {
  const plane = usePlane(vocabulary, PLUGINS);
  const { words } = plane;
  const taint = (name: string): string => `node.${words.domain}/${name}`;

  test('Priority: names become numbers', async () => {
    const at = await plane.namespace();
    const classes = plane.path('scheduling/v1', 'priorityclasses');
    await plane.post(classes, { metadata: { name: 'high' }, value: 1000, preemptionPolicy: 'Never' });
    const made = await Promise.all([
      plane.post(`${at}/pods`, pod('a')),
      plane.post(`${at}/pods`, pod('b', { priorityClassName: 'high' })),
      plane.post(`${at}/pods`, pod('c', { priorityClassName: 'system-node-critical' })),
      plane.post(`${at}/pods`, pod('d', { priorityClassName: 'unknown' })),
      plane.post(`${at}/pods`, pod('e', { priorityClassName: 'high', priority: 5 })),
    ]);
    expect(made.map(({ status, body }) => [status, body.spec?.['priority']])).toEqual([
      [201, 0],
      [201, 1000],
      [201, 2_000_001_000],
      [403, undefined],
      [403, undefined],
    ]);
    expect(made[1]?.body.spec['preemptionPolicy']).toBe('Never');
    expect(made[3]?.body.message).toContain('no PriorityClass with name unknown was found');
  });

  test('Priority: one class at most is the default', async () => {
    const at = await plane.namespace();
    const classes = plane.path('scheduling/v1', 'priorityclasses');
    await plane.post(classes, { metadata: { name: 'usual' }, value: 7, globalDefault: true });
    const make = async (): Promise<unknown> =>
      (await plane.post(`${at}/pods?dryRun=All`, pod('a'))).body.spec['priorityClassName'];
    await expect.poll(make, WAIT).toBe('usual');
    const second = await plane.post(classes, { metadata: { name: 'two' }, value: 8, globalDefault: true });
    expect([second.status, second.body.message]).toEqual([
      403,
      expect.stringContaining('PriorityClass usual is already marked as default. Only one default can exist'),
    ]);
    await plane.delete(`${classes}/usual`);
    await expect.poll(make, WAIT).toBe(undefined);
  });

  test('DefaultTolerationSeconds: pods stay five minutes', async () => {
    const at = await plane.namespace();
    const forever = { key: taint('not-ready'), operator: 'Exists', effect: 'NoExecute' };
    const { body } = await plane.post(`${at}/pods`, pod('a', { tolerations: [forever] }));
    expect(body.spec['tolerations']).toEqual([
      forever,
      { key: taint('unreachable'), operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ]);
  });

  test('LimitRanger: containers get what they lack, and no more than they may', async () => {
    const at = await plane.namespace();
    const limits = [
      { type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '100m' }, max: { cpu: '3' } },
      { type: 'PersistentVolumeClaim', max: { storage: '1Gi' } },
    ];
    await plane.post(`${at}/limitranges`, { metadata: { name: 'l' }, spec: { limits } });
    const create = () => plane.post(`${at}/pods?dryRun=All`, pod('a'));
    await expect
      .poll(async () => (await create()).body.spec['containers'], WAIT)
      .toMatchObject([{ resources: { limits: { cpu: '2' }, requests: { cpu: '100m' } } }]);
    expect((await create()).body.metadata.annotations).toEqual({
      [`${words.domain}/limit-ranger`]:
        'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
    });
    const large = { ...CONTAINER, resources: { limits: { cpu: '4' } } };
    const refused = await plane.post(`${at}/pods`, pod('b', { containers: [large] }));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('maximum cpu usage per Container is 3, but limit is 4'),
    ]);
    const claim = {
      metadata: { name: 'p' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } },
    };
    expect((await plane.post(`${at}/persistentvolumeclaims`, claim)).status).toBe(403);
  });

  test('DefaultStorageClass, StorageObjectInUseProtection, PersistentVolumeClaimResize: claims', async () => {
    const at = await plane.namespace();
    const classes = plane.path('storage/v1', 'storageclasses');
    const annotations = { [`storageclass.${words.domain}/is-default-class`]: 'true' };
    await plane.post(classes, { metadata: { name: 'usual', annotations }, provisioner: 'x/y' });
    const claims = `${at}/persistentvolumeclaims`;
    const claim = (name: string, spec: object = {}) => ({
      metadata: { name },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    });
    const make = async (): Promise<unknown> =>
      (await plane.post(`${claims}?dryRun=All`, claim('a'))).body.spec['storageClassName'];
    await expect.poll(make, WAIT).toBe('usual');
    const none = await plane.post(claims, claim('b', { storageClassName: '' }));
    expect(none.body.spec['storageClassName']).toBe('');
    const { body } = await plane.post(claims, claim('a'));
    expect(body.metadata.finalizers).toEqual([`${words.domain}/pvc-protection`]);
    const grow = () => plane.patch(`${claims}/a`, { spec: { resources: { requests: { storage: '2Gi' } } } });
    const bound = { status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
    await plane.patch(`${claims}/a/status`, bound);
    await plane.patch(`${claims}/a`, { spec: { volumeName: 'v' } });
    expect((await grow()).status).toBe(403);
    await plane.patch(`${classes}/usual`, { allowVolumeExpansion: true });
    await expect.poll(async () => (await grow()).status, WAIT).toBe(200);
  });

  test('DefaultIngressClass: ingresses get the default class', async () => {
    const at = await plane.namespace();
    const annotations = { [`ingressclass.${words.domain}/is-default-class`]: 'true' };
    const spec = { controller: 'x/y' };
    await plane.post(plane.path('networking/v1', 'ingressclasses'), {
      metadata: { name: 'usual', annotations },
      spec,
    });
    const ingresses = plane.path('networking/v1', `${at.slice('/api/v1/'.length)}/ingresses?dryRun=All`);
    const defaultBackend = { service: { name: 's', port: { number: 80 } } };
    const make = async () =>
      (await plane.post(ingresses, { metadata: { name: 'i' }, spec: { defaultBackend } })).body.spec;
    await expect.poll(make, WAIT).toMatchObject({ ingressClassName: 'usual' });
  });

  test('RuntimeClass: pods get its overhead and its nodes', async () => {
    const at = await plane.namespace();
    await plane.post(plane.path('node/v1', 'runtimeclasses'), {
      metadata: { name: 'vm' },
      handler: 'vm',
      overhead: { podFixed: { memory: '64Mi' } },
      scheduling: { nodeSelector: { vm: 'yes' } },
    });
    const runtimeClassName = 'vm';
    const made = await Promise.all([
      plane.post(`${at}/pods`, pod('a', { runtimeClassName, nodeSelector: { disk: 'fast' } })),
      plane.post(`${at}/pods`, pod('b', { runtimeClassName, nodeSelector: { vm: 'no' } })),
      plane.post(`${at}/pods`, pod('c', { runtimeClassName, overhead: { memory: '1Mi' } })),
      plane.post(`${at}/pods`, pod('d', { runtimeClassName: 'unknown' })),
      plane.post(`${at}/pods`, pod('e', { overhead: { memory: '1Mi' } })),
    ]);
    expect(made.map(({ status }) => status)).toEqual([201, 403, 403, 403, 403]);
    expect(made[0]?.body.spec).toMatchObject({
      overhead: { memory: '64Mi' },
      nodeSelector: { vm: 'yes', disk: 'fast' },
    });
  });

  test('PodSecurity: pods are refused, or warned of, as the labels of their namespace say', async () => {
    const at = await plane.namespace();
    const label = (mode: string): string => `pod-security.${words.domain}/${mode}`;
    const labels = { [label('enforce')]: 'baseline', [label('warn')]: 'restricted' };
    await plane.patch(at, { metadata: { labels } });
    const create = (spec: object) => plane.post(`${at}/pods?dryRun=All`, pod('a', spec));
    await expect.poll(async () => (await create({ hostNetwork: true })).status, WAIT).toBe(403);
    expect((await create({ hostNetwork: true })).body.message).toContain(
      'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
    );
    const { status, headers } = await create({});
    expect([status, String(headers['warning'])]).toEqual([
      201,
      expect.stringContaining('would violate PodSecurity \\"restricted:latest\\"'),
    ]);
    const template = { metadata: { labels: { a: 'b' } }, spec: pod('a', { hostNetwork: true }).spec };
    const spec = { selector: { matchLabels: { a: 'b' } }, template };
    const deployments = `/apis/apps/v1/${at.slice('/api/v1/'.length)}/deployments`;
    const made = await plane.post(deployments, { metadata: { name: 'd' }, spec });
    expect([made.status, String(made.headers['warning'])]).toEqual([
      201,
      expect.stringContaining('host namespaces'),
    ]);
    const bad = await plane.patch(at, { metadata: { labels: { [label('enforce')]: 'strict' } } });
    expect(bad.status).toBe(422);
  });

  test('PodSecurity: seccomp annotations are judged as fields, and stay', async () => {
    const at = await plane.namespace();
    await plane.patch(at, { metadata: { labels: { [`pod-security.${words.domain}/enforce`]: 'baseline' } } });
    const path = `${at}/pods`;
    const key = `${words.seccompContainerPrefix}c`;
    const spec = {
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [{ name: 'c', image: 'i' }],
    };
    const hidden = { metadata: { name: 'a', annotations: { [key]: 'unconfined' } }, spec };
    await expect.poll(async () => (await plane.post(`${path}?dryRun=All`, hidden)).status, WAIT).toBe(403);
    const applied = await plane.apply(`${path}/a?fieldManager=x`, {
      apiVersion: 'v1',
      kind: 'Pod',
      ...hidden,
    });
    expect([applied.status, applied.body.message]).toEqual([403, expect.stringContaining('seccompProfile')]);
    const { body: made } = await plane.post(path, { metadata: { name: 'a' }, spec });
    expect(made.metadata.annotations).toEqual({ [words.seccompPod]: 'runtime/default' });
    const change = { metadata: { annotations: { [key]: 'unconfined' } } };
    const debug = { name: 'debug', image: 'i', securityContext: { seccompProfile: { type: 'Unconfined' } } };
    const replies = await Promise.all([
      plane.patch(`${path}/a`, change),
      plane.patch(`${path}/a/status`, change),
      plane.put(`${path}/a`, { ...made, metadata: { ...made.metadata, ...change.metadata } }),
      plane.post(`${path}/a/binding`, {
        metadata: { name: 'a', ...change.metadata },
        target: { kind: 'Node', name: 'n' },
      }),
      plane.patch(`${path}/a/ephemeralcontainers`, { spec: { ephemeralContainers: [debug] } }),
      // A client that knows nothing of the annotation.
      plane.put(`${path}/a?dryRun=All`, { ...made, metadata: { name: 'a', labels: { b: 'c' } } }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([422, 422, 422, 422, 403, 200]);
    expect((await plane.get(`${path}/a`)).body.metadata.annotations).toEqual(made.metadata.annotations);
  });

  test('TaintNodesByCondition: new nodes are not ready', async () => {
    const { body } = await plane.post('/api/v1/nodes', { metadata: { name: 'n' } });
    expect(body.spec['taints']).toEqual([{ key: taint('not-ready'), effect: 'NoSchedule' }]);
  });
});

describe('--disable-admission-plugins', () => {
  const plane = usePlane('plat', [...PLUGINS, '--disable-admission-plugins=Priority,TaintNodesByCondition']);

  test('leaves objects as they are', async () => {
    const at = await plane.namespace();
    const { body } = await plane.post(`${at}/pods`, pod('a', { priorityClassName: 'unknown' }));
    expect(body.spec['priority']).toBeUndefined();
  });
});

describe('--enable-admission-plugins', () => {
  const all =
    'NamespaceExists,SecurityContextDeny,LimitPodHardAntiAffinityTopology,AlwaysPullImages,OwnerReferencesPermissionEnforcement,PodNodeSelector,PodTolerationRestriction,DenyServiceExternalIPs';
  const plane = usePlane('plat', async (dir) => {
    await writeFile(`${dir}/tokens`, 'ann,ann,,\n');
    return [...PLUGINS, `--enable-admission-plugins=${all}`, `--token-auth-file=${dir}/tokens`];
  });

  test('LimitPodHardAntiAffinityTopology, SecurityContextDeny, AlwaysPullImages: pods', async () => {
    const at = await plane.namespace();
    const apart = (topologyKey: string) => ({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }],
        },
      },
    });
    const made = await Promise.all([
      plane.post(`${at}/pods`, pod('a', apart(plane.words.labelHostname))),
      plane.post(`${at}/pods`, pod('b', apart('zone'))),
      plane.post(`${at}/pods`, pod('c', { securityContext: { runAsUser: 7 } })),
      plane.post(`${at}/pods`, pod('d', { securityContext: { runAsNonRoot: true } })),
    ]);
    expect(made.map(({ status }) => status)).toEqual([201, 403, 403, 201]);
    expect(made[0]?.body.spec['containers']).toMatchObject([{ imagePullPolicy: 'Always' }]);
  });

  test('DenyServiceExternalIPs: services get no external addresses, in whatever form', async () => {
    const at = await plane.namespace();
    const spec = { ports: [{ port: 80 }] };
    const bad = { externalIPs: ['192.0.2.1'] };
    const made = await plane.post(`${at}/services`, { metadata: { name: 'a' }, spec });
    const path = `${at}/services/a`;
    const applied = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' }, spec: { ...spec, ...bad } };
    const replies = await Promise.all([
      plane.post(`${at}/services`, { metadata: { name: 'b' }, spec: { ...spec, ...bad } }),
      plane.put(path, { ...made.body, spec: { ...made.body.spec, ...bad } }),
      plane.patch(path, { spec: bad }),
      plane.apply(`${path}?fieldManager=x`, applied),
      plane.apply(`${at}/services/c?fieldManager=x`, { ...applied, metadata: { name: 'c' } }),
      plane.patch(path, { spec: { type: 'NodePort' } }),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 200]);
    expect(replies[0]?.body.message).toContain('Use of external IPs is denied by admission control.');
  });

  test('PodNodeSelector, PodTolerationRestriction: pods run on the nodes that their namespace selects', async () => {
    const at = await plane.namespace();
    const key = (name: string): string => `scheduler.alpha.${plane.words.domain}/${name}`;
    const allowed = [
      { operator: 'Exists', effect: 'NoExecute' },
      { key: 'gpu', operator: 'Exists' },
    ];
    const annotations = {
      [key('node-selector')]: 'disk=fast',
      [key('defaultTolerations')]: JSON.stringify([{ key: 'gpu', operator: 'Exists' }]),
      [key('tolerationsWhitelist')]: JSON.stringify(allowed),
    };
    await plane.patch(at, { metadata: { annotations } });
    const create = (spec: object = {}) => plane.post(`${at}/pods?dryRun=All`, pod('a', spec));
    const selectorOf = async () => (await create()).body.spec['nodeSelector'];
    await expect.poll(selectorOf, WAIT).toEqual({ disk: 'fast' });
    expect((await create()).body.spec['tolerations']).toContainEqual({ key: 'gpu', operator: 'Exists' });
    const statuses = await Promise.all([
      create({ nodeSelector: { disk: 'slow' } }),
      create({ tolerations: [{ key: 'other', operator: 'Exists' }] }),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([403, 403]);
  });

  test('OwnerReferencesPermissionEnforcement: changing owners requires permission', async () => {
    const at = await plane.namespace();
    const roles = plane.path('rbac.authorization/v1', `${at.slice('/api/v1/'.length)}/roles`);
    const role = { apiGroup: `rbac.authorization.${plane.words.apiGroupDomain}`, kind: 'Role', name: 'r' };
    const rules = [
      { apiGroups: [''], resources: ['configmaps'], verbs: ['create', 'update', 'get', 'patch'] },
    ];
    await plane.post(roles, { metadata: { name: 'r' }, rules });
    await plane.post(roles.replace(/roles$/, 'rolebindings'), {
      metadata: { name: 'b' },
      roleRef: role,
      subjects: [{ apiGroup: role.apiGroup, kind: 'User', name: 'ann' }],
    });
    const ann = plane.as('ann');
    const create = (name: string, more: object = {}) =>
      ann.post(`${at}/configmaps`, { metadata: { name, ...more } });
    await expect.poll(async () => (await create('owner')).status, WAIT).not.toBe(403);
    const { uid } = (await plane.get(`${at}/configmaps/owner`)).body.metadata;
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid };
    const own = (reference: object) => ({ ownerReferences: [reference] });
    const blocking = own({ ...owner, blockOwnerDeletion: true });
    expect((await create('a', own(owner))).status).toBe(201);
    expect((await create('b', blocking)).body.message).toContain("you can't set finalizers on");
    const path = `${at}/configmaps/owner`;
    const taken = await ann.patch(path, { metadata: own({ ...owner, name: 'a' }) });
    expect([taken.status, taken.body.message]).toEqual([
      403,
      expect.stringContaining("cannot set an ownerRef on a resource you can't delete"),
    ]);
    expect((await plane.patch(path, { metadata: own({ ...owner, name: 'a' }) })).status).toBe(200);
  });
});
