import { beforeEach, describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createObjectCache, type ObjectCache } from '../cache/object-cache.fixture.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { AuthorizationAttributes, Authorizer } from './contract.ts';
import { createNodeAuthorizer } from './node.ts';
import { createNodeGraph } from './node-graph.ts';

const words = VOCABULARIES.plat;
const STORAGE = `storage.${words.apiGroupDomain}`;
const COORDINATION = `coordination.${words.apiGroupDomain}`;

let pods: ObjectCache;
let volumes: ObjectCache;
let attachments: ObjectCache;
let authorizer: Authorizer;

const podOf = (name: string, node: string, spec: object, annotations = {}): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'shop', uid: `${name}-${node}`, annotations },
  spec: { nodeName: node, containers: [], ...spec },
});

const SPEC = {
  serviceAccountName: 'cashier',
  imagePullSecrets: [{ name: 'registry' }],
  containers: [
    {
      name: 'c',
      env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'by-env', key: 'a' } } }],
      envFrom: [{ configMapRef: { name: 'all-of-it' } }],
    },
  ],
  volumes: [
    { name: 'v', persistentVolumeClaim: { claimName: 'ledger' } },
    { name: 'w', ephemeral: {} },
    { name: 'x', projected: { sources: [{ secret: { name: 'in-projection' } }] } },
    { name: 'y', csi: { driver: 'd', nodePublishSecretRef: { name: 'login' } } },
  ],
};

const base: AuthorizationAttributes = {
  user: { name: 'system:node:n1', groups: ['system:nodes'], extra: {} },
  verb: 'get',
  isResource: true,
  group: '',
  version: 'v1',
  resource: 'secrets',
  subresource: '',
  namespace: 'shop',
  name: 'by-env',
  path: '',
};

const effectOf = (attributes: Partial<AuthorizationAttributes>): string => {
  const decision = authorizer.authorize({ ...base, ...attributes });
  if (decision instanceof Promise) throw new Error('decides at once');
  return decision.effect;
};

beforeEach(() => {
  pods = createObjectCache({
    'spec.nodeName': ({ spec }) =>
      typeof spec === 'object' && spec !== null && 'nodeName' in spec ? String(spec.nodeName) : '',
  });
  volumes = createObjectCache();
  attachments = createObjectCache();
  const graph = createNodeGraph({ pods, volumes, attachments, mirrorAnnotation: words.configMirror });
  authorizer = createNodeAuthorizer({
    graph,
    vocabulary: words,
    rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['services'] }],
  });
  pods.put(podOf('web', 'n1', SPEC));
  pods.put(podOf('other', 'n2', { imagePullSecrets: [{ name: 'of-n2' }] }));
  pods.put(podOf('nowhere', '', { imagePullSecrets: [{ name: 'of-nobody' }] }));
  pods.put(
    podOf('static', 'n1', { imagePullSecrets: [{ name: 'of-mirror' }] }, { [words.configMirror]: 'hash' }),
  );
  volumes.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      claimRef: { namespace: 'shop', name: 'ledger' },
      csi: {
        nodeStageSecretRef: { name: 'stage', namespace: 'vault' },
        controllerExpandSecretRef: { name: 'expand', namespace: 'vault' },
      },
    },
  });
  volumes.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'spare' },
    spec: { rbd: { secretRef: { name: 'spare-login', namespace: 'vault' } } },
  });
  attachments.put({
    apiVersion: `${STORAGE}/v1`,
    kind: 'VolumeAttachment',
    metadata: { name: 'at-n1' },
    spec: { nodeName: 'n1', attacher: 'd', source: { persistentVolumeName: 'disk' } },
  });
});

const claims = { resource: 'persistentvolumeclaims', name: 'ledger' };
const disks = { resource: 'persistentvolumes', namespace: '', name: 'disk' };
const account = {
  verb: 'create',
  resource: 'serviceaccounts',
  subresource: 'token',
  name: 'cashier',
};
const lease = {
  group: COORDINATION,
  resource: 'leases',
  namespace: words.nodeLeaseNamespace,
  name: 'n1',
};
const csiNode = { group: STORAGE, resource: 'csinodes', namespace: '', name: 'n1' };

describe('a node may', () => {
  test.each<[string, Partial<AuthorizationAttributes>]>([
    ['get a secret of its pod', {}],
    ['watch one', { verb: 'watch' }],
    ['list one', { verb: 'list' }],
    ['get a secret for images', { name: 'registry' }],
    ['get a projected secret', { name: 'in-projection' }],
    ['get a secret that a volume logs in with', { name: 'login' }],
    ['get a secret that a persistent volume is staged with', { namespace: 'vault', name: 'stage' }],
    ['get a config map', { resource: 'configmaps', name: 'all-of-it' }],
    ['get a claim', claims],
    ['get the claim of an ephemeral volume', { ...claims, name: 'web-w' }],
    ['change the status of a claim', { ...claims, verb: 'patch', subresource: 'status' }],
    ['get a volume', disks],
    ['get an attachment to it', { ...disks, group: STORAGE, resource: 'volumeattachments', name: 'at-n1' }],
    ['make a token of an account', account],
    ['renew its lease', { ...lease, verb: 'update' }],
    ['make a lease', { ...lease, verb: 'create', name: '' }],
    ['change its CSINode', { ...csiNode, verb: 'patch' }],
    ['do anything that all nodes may', { resource: 'services', verb: 'list', name: '' }],
  ])('%s', (_, attributes) => expect(effectOf(attributes)).toBe('allow'));
});

describe('a node may not', () => {
  test.each<[string, Partial<AuthorizationAttributes>]>([
    ['get a secret of another node', { name: 'of-n2' }],
    ['get a secret of a pod that is nowhere', { name: 'of-nobody' }],
    ['get the objects that its own mirror pod names', { name: 'of-mirror' }],
    ['get a secret without a reference', { name: 'else' }],
    ['get a secret of the same name elsewhere', { namespace: 'bank' }],
    ['list all secrets', { verb: 'list', name: '' }],
    ['list secrets of all namespaces', { verb: 'list', namespace: '' }],
    ['change a secret', { verb: 'update' }],
    ['get a secret that only controllers use', { namespace: 'vault', name: 'expand' }],
    ['get a secret of a volume that no pod has', { namespace: 'vault', name: 'spare-login' }],
    ['get a config map by the name of a secret', { resource: 'configmaps' }],
    ['list claims', { ...claims, verb: 'list' }],
    ['change a claim', { ...claims, verb: 'update' }],
    ['get a volume that no pod has', { ...disks, name: 'spare' }],
    ['get an attachment elsewhere', { group: STORAGE, resource: 'volumeattachments', name: 'at-n2' }],
    ['make a token of another account', { ...account, name: 'director' }],
    ['get an account', { ...account, verb: 'get', subresource: '' }],
    ['renew the lease of another', { ...lease, verb: 'update', name: 'n2' }],
    ['list leases', { ...lease, verb: 'list', name: '' }],
    ['have a lease elsewhere', { ...lease, verb: 'update', namespace: 'shop' }],
    ['change the CSINode of another', { ...csiNode, verb: 'patch', name: 'n2' }],
    ['do anything that nodes may not', { resource: 'services', verb: 'delete' }],
    ['act without a name', { user: { ...base.user, name: 'system:node:' } }],
    ['act outside of the group of nodes', { user: { ...base.user, groups: [] } }],
  ])('%s', (_, attributes) => expect(effectOf(attributes)).toBe('none'));
});

describe('rights of a node after a change', () => {
  test('with its pods', () => {
    pods.put(podOf('second', 'n1', { imagePullSecrets: [{ name: 'registry' }] }));
    pods.remove('shop/web');
    expect([effectOf({ name: 'registry' }), effectOf({}), effectOf(claims)]).toEqual([
      'allow',
      'none',
      'none',
    ]);
    pods.remove('shop/second');
    expect(effectOf({ name: 'registry' })).toBe('none');
  });

  test('when a pod is bound to it', () => {
    pods.put(podOf('nowhere', 'n1', { imagePullSecrets: [{ name: 'of-nobody' }] }));
    expect(effectOf({ name: 'of-nobody' })).toBe('allow');
  });

  test('when a pod gets an ephemeral container', () => {
    const ephemeralContainers = [{ name: 'e', envFrom: [{ secretRef: { name: 'for-debugging' } }] }];
    pods.put(podOf('web', 'n1', { ...SPEC, ephemeralContainers }));
    expect(effectOf({ name: 'for-debugging' })).toBe('allow');
  });

  test('when a volume is bound to another claim', () => {
    const spec = { claimRef: { namespace: 'shop', name: 'else' } };
    volumes.put({ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'disk' }, spec });
    expect([effectOf(disks), effectOf({ namespace: 'vault', name: 'stage' })]).toEqual(['none', 'none']);
  });
});
