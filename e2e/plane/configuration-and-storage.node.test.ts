/** Kinds of configuration and storage. Document 3 §2 and 4.1–4.2; each describe has the number of its
 *  section. */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Body, type Json, pod, type Reply, usePlane } from './support.ts';

const fieldsOf = ({ details }: Body): readonly string[] =>
  (details?.causes ?? []).map(({ field = '' }) => field).toSorted((a, b) => (a < b ? -1 : 1));

describe('configuration and storage', () => {
  const plane = usePlane();
  let folder = '';
  let names = 0;
  beforeAll(async () => {
    folder = await plane.namespace();
  });
  const fresh = (): string => `s-${(names += 1)}`;
  const create = (plural: string, object: Json): Promise<Reply> => {
    const path = {
      storageclasses: plane.path('storage/v1', plural),
      volumeattachments: plane.path('storage/v1', plural),
      persistentvolumes: `/api/v1/${plural}`,
    }[plural];
    return plane.post(path ?? `${folder}/${plural}`, { metadata: { name: fresh() }, ...object });
  };
  const one = (plural: string, { body }: Reply): string => `${folder}/${plural}/${body.metadata.name}`;

  describe.each(['configmaps', 'secrets'])('2.1 and 2.2: %s', (plural) => {
    const field = plural === 'configmaps' ? 'binaryData' : 'data';

    test.each(['a', 'A.b-c_d', '.x', 'a'.repeat(253), '1'])('%j is a key', async (key) => {
      const { status, body } = await create(plural, { [field]: { [key]: 'AAEC' } });
      expect({ status, message: body.message }).toEqual({ status: 201 });
    });

    test.each(['', 'a b', 'a/b', '.', '..', 'ü', 'a'.repeat(254), '..x'])('%j is no key', async (key) => {
      const { status, body } = await create(plural, { [field]: { [key]: 'AAEC' } });
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: [`${field}[${key}]`] });
    });

    test('the total size has a limit of 1 MiB', async () => {
      const data = (bytes: number): Json => ({ [field]: { a: Buffer.alloc(bytes).toString('base64') } });
      expect((await create(plural, data(1024 * 1024))).status).toBe(201);
      const large = await create(plural, data(1024 * 1024 + 1));
      expect({ status: large.status, fields: fieldsOf(large.body) }).toEqual({
        status: 422,
        fields: ['data'],
      });
      expect(large.body.details.causes?.[0]?.reason).toBe('FieldValueTooLong');
    });

    test('an immutable one changes in metadata only, and stays immutable', async () => {
      const made = await create(plural, { immutable: true, [field]: { a: 'AAEC' } });
      const path = one(plural, made);
      const rows: readonly (readonly [Json, string])[] = [
        [{ [field]: { a: 'AAED' } }, field],
        [{ [field]: { b: 'AAEC' } }, field],
        [{ immutable: false }, 'immutable'],
        [{ immutable: null }, 'immutable'],
      ];
      for (const [patch, error] of rows) {
        const { status, body } = await plane.patch(path, patch);
        expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: [error] });
      }
      const labelled = await plane.patch(path, { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } });
      expect(labelled).toMatchObject({
        status: 200,
        body: { immutable: true, metadata: { labels: { a: 'b' } } },
      });
      expect((await plane.delete(path)).status).toBe(200);
    });

    test('immutable may be set and unset while it is not true', async () => {
      const path = one(plural, await create(plural, { [field]: { a: 'AAEC' } }));
      expect((await plane.get(path)).body).not.toHaveProperty('immutable');
      for (const immutable of [false, null, false]) {
        expect((await plane.patch(path, { immutable, [field]: { a: 'AAED' } })).status).toBe(200);
      }
      expect((await plane.patch(path, { immutable: true })).status).toBe(200);
    });
  });

  describe('2.1: ConfigMap', () => {
    test('data is text, binaryData base64; no key in both', async () => {
      const good = await create('configmaps', { data: { t: 'text ü' }, binaryData: { b: '//79' } });
      expect(good.body).toMatchObject({ data: { t: 'text ü' }, binaryData: { b: '//79' } });
      const both = await create('configmaps', { data: { a: 'x' }, binaryData: { a: 'AAEC' } });
      expect({ status: both.status, fields: fieldsOf(both.body) }).toEqual({
        status: 422,
        fields: ['data[a]'],
      });
      expect((await create('configmaps', { binaryData: { a: 'not base64!' } })).status).toBe(400);
    });
  });

  describe('2.2: Secret', () => {
    test('stringData is merged over data and never shown', async () => {
      const { body } = await create('secrets', {
        data: { a: 'b2xk', b: 'Yg==' },
        stringData: { a: 'new', c: 'ü' },
      });
      expect(body.data).toEqual({ a: 'bmV3', b: 'Yg==', c: 'w7w=' });
      expect(body).not.toHaveProperty('stringData');
      const path = `${folder}/secrets/${body.metadata.name}`;
      const put = await plane.put(path, { metadata: { name: body.metadata.name }, stringData: { d: 'x' } });
      expect(put.body.data).toEqual({ d: 'eA==' });
      const patched = await plane.patch(path, { stringData: { e: 'y' } });
      expect(patched.body.data).toEqual({ d: 'eA==', e: 'eQ==' });
      expect(JSON.stringify((await plane.get(path)).body)).not.toContain('stringData');
    });

    test('type is Opaque unless given, and stays', async () => {
      const made = await create('secrets', {});
      expect(made.body).toMatchObject({ type: 'Opaque' });
      const { status, body } = await plane.patch(one('secrets', made), { type: 'example.com/x' });
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: ['type'] });
    });

    test.each<[string, Json, readonly string[]]>([
      ['tls', { data: {} }, ['data[tls.crt]', 'data[tls.key]']],
      ['tls', { data: { 'tls.crt': '', 'tls.key': '' } }, []],
      ['basic-auth', { data: {} }, ['data[%s]', 'data[%s]']],
      ['basic-auth', { data: { username: 'YQ==' } }, []],
      ['ssh-auth', { data: {} }, ['data[ssh-privatekey]']],
      ['dockerconfigjson', { data: { '.dockerconfigjson': 'bm8=' } }, ['data[.dockerconfigjson]']],
      ['dockerconfigjson', { data: { '.dockerconfigjson': 'e30=' } }, []],
      ['service-account-token', { data: {} }, ['metadata.annotations']],
    ])('type %s with %j has errors in %j', async (type, object, fields) => {
      const { status, body } = await create('secrets', { type: `${plane.words.domain}/${type}`, ...object });
      expect(status).toBe(fields.length === 0 ? 201 : 422);
      expect(fieldsOf(body)).toHaveLength(fields.length);
    });
  });

  const withVolumes = (...volumes: Json[]): Promise<Reply> =>
    create('pods', { spec: { ...(pod('')['spec'] as Json), volumes } });

  describe('2.3: Volume', () => {
    /** Every source with just what it requires, or with one error more. */
    test.each<[string, Json, readonly string[]]>([
      ['persistentVolumeClaim', { claimName: 'c' }, ['claimName']],
      ['configMap', { name: 'c' }, []],
      ['secret', { secretName: 's' }, []],
      ['hostPath', { path: '/x' }, ['path']],
      ['awsElasticBlockStore', { volumeID: 'v' }, ['volumeID']],
      [
        'azureDisk',
        { diskName: 'd', diskURI: 'https://x.blob.core.example.com/d.vhd' },
        ['diskName', 'diskURI'],
      ],
      ['azureFile', { secretName: 's', shareName: 'n' }, ['secretName', 'shareName']],
      ['cephfs', { monitors: ['m'] }, ['monitors']],
      ['cinder', { volumeID: 'v' }, ['volumeID']],
      ['csi', { driver: 'd.example.com' }, ['driver']],
      ['fc', { wwids: ['w'] }, []],
      ['flexVolume', { driver: 'e.com/d' }, ['driver']],
      ['flocker', { datasetName: 'd' }, []],
      ['gcePersistentDisk', { pdName: 'p' }, ['pdName']],
      ['glusterfs', { endpoints: 'e', path: 'p' }, ['endpoints', 'path']],
      [
        'iscsi',
        { iqn: 'iqn.2001-04.com.example:disk', lun: 0, targetPortal: '1.2.3.4' },
        ['iqn', 'targetPortal'],
      ],
      ['nfs', { path: '/x', server: 's' }, ['path', 'server']],
      ['photonPersistentDisk', { pdID: 'p' }, ['pdID']],
      ['portworxVolume', { volumeID: 'v' }, ['volumeID']],
      ['quobyte', { registry: 'r:1', volume: 'v' }, ['registry', 'volume']],
      ['rbd', { image: 'i', monitors: ['m'] }, ['image', 'monitors']],
      [
        'scaleIO',
        { gateway: 'g', system: 's', volumeName: 'v', secretRef: { name: 'n' } },
        ['gateway', 'system', 'secretRef'],
      ],
      ['storageos', { volumeName: 'v' }, []],
      ['vsphereVolume', { volumePath: 'v' }, ['volumePath']],
      ['gitRepo', { repository: 'r' }, ['repository']],
      ['emptyDir', {}, []],
      ['downwardAPI', { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] }, []],
      ['projected', { sources: [{ secret: { name: 's' } }] }, []],
      [
        'ephemeral',
        {
          volumeClaimTemplate: {
            spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
          },
        },
        ['volumeClaimTemplate'],
      ],
    ])('%s takes %j and misses %j', async (source, object, required) => {
      const good = await withVolumes({ name: 'v', [source]: object });
      expect({ status: good.status, message: good.body.message }).toEqual({ status: 201 });
      for (const member of required) {
        const { [member]: _, ...rest } = object;
        const { status, body } = await withVolumes({ name: 'v', [source]: rest });
        expect({ status, field: String(fieldsOf(body)[0]) }).toEqual({
          status: 422,
          field: expect.stringMatching(
            new RegExp(`^spec\\.volumes\\[0\\]\\.${source}(\\.${member}|$)`, 'i'),
          ) as string,
        });
      }
    });

    test.each<[string, Json, string]>([
      ['a name that is no label', { name: 'A_b', emptyDir: {} }, 'spec.volumes[0].name'],
      ['no name', { emptyDir: {} }, 'spec.volumes[0].name'],
      ['two sources', { name: 'v', emptyDir: {}, hostPath: { path: '/x' } }, 'spec.volumes[0].emptyDir'],
      [
        'an unknown type of host path',
        { name: 'v', hostPath: { path: '/x', type: 'Pipe' } },
        'spec.volumes[0].hostPath.type',
      ],
      [
        'a host path that goes up',
        { name: 'v', hostPath: { path: '/x/..' } },
        'spec.volumes[0].hostPath.path',
      ],
      [
        'a mode beyond 0777',
        { name: 'v', configMap: { name: 'c', defaultMode: 512 } },
        'spec.volumes[0].configMap.defaultMode',
      ],
      [
        'a negative mode',
        { name: 'v', secret: { secretName: 's', defaultMode: -1 } },
        'spec.volumes[0].secret.defaultMode',
      ],
      [
        'a path that goes up',
        { name: 'v', configMap: { name: 'c', items: [{ key: 'k', path: '../x' }] } },
        'spec.volumes[0].configMap.items[0].path',
      ],
      [
        'an absolute path',
        { name: 'v', configMap: { name: 'c', items: [{ key: 'k', path: '/x' }] } },
        'spec.volumes[0].configMap.items[0].path',
      ],
      [
        'an item without key',
        { name: 'v', secret: { secretName: 's', items: [{ path: 'x' }] } },
        'spec.volumes[0].secret.items[0].key',
      ],
      [
        'both wwids and targetWWNs',
        { name: 'v', fc: { wwids: ['w'], targetWWNs: ['t'], lun: 1 } },
        'spec.volumes[0].fc.targetWWNs',
      ],
      [
        'both names of a dataset',
        { name: 'v', flocker: { datasetName: 'a', datasetUUID: 'b' } },
        'spec.volumes[0].flocker',
      ],
      [
        'a directory that goes up',
        { name: 'v', gitRepo: { repository: 'r', directory: '../x' } },
        'spec.volumes[0].gitRepo.directory',
      ],
      [
        'a token that lives too short',
        {
          name: 'v',
          projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 599 } }] },
        },
        'spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds',
      ],
      [
        'two sources of a projection in one',
        { name: 'v', projected: { sources: [{ secret: { name: 's' }, configMap: { name: 'c' } }] } },
        'spec.volumes[0].projected.sources[0].configMap',
      ],
      [
        'a field that is not offered',
        { name: 'v', downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'spec.nodeName' } }] } },
        'spec.volumes[0].downwardAPI.items[0].fieldRef.fieldPath',
      ],
      [
        'both references of an item',
        {
          name: 'v',
          downwardAPI: {
            items: [
              {
                path: 'p',
                fieldRef: { fieldPath: 'metadata.name' },
                resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' },
              },
            ],
          },
        },
        'spec.volumes[0].downwardAPI',
      ],
      [
        'a negative limit',
        { name: 'v', emptyDir: { sizeLimit: '-1' } },
        'spec.volumes[0].emptyDir.sizeLimit',
      ],
    ])('%s is refused', async (_, volume, field) => {
      const { status, body } = await withVolumes(volume);
      expect({ status, fields: fieldsOf(body) }).toEqual({
        status: 422,
        fields: expect.arrayContaining([expect.stringContaining(field)]) as unknown,
      });
    });

    test('names are unique within the pod', async () => {
      const { status, body } = await withVolumes({ name: 'v', emptyDir: {} }, { name: 'v', emptyDir: {} });
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: ['spec.volumes[1].name'] });
      expect(body.details.causes?.[0]?.reason).toBe('FieldValueDuplicate');
    });

    test.each<[string, Json, Json]>([
      ['none', {}, { emptyDir: {} }],
      ['configMap', { configMap: { name: 'c' } }, { configMap: { defaultMode: 0o644 } }],
      ['secret', { secret: { secretName: 'c' } }, { secret: { defaultMode: 420 } }],
      ['downwardAPI', { downwardAPI: {} }, { downwardAPI: { defaultMode: 420 } }],
      [
        'projected',
        { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
        { projected: { defaultMode: 420, sources: [{ serviceAccountToken: { expirationSeconds: 3600 } }] } },
      ],
      ['hostPath', { hostPath: { path: '/x' } }, { hostPath: { type: '' } }],
      [
        'azureDisk',
        { azureDisk: { diskName: 'd', diskURI: 'https://x.blob.core.example.com/d.vhd' } },
        { azureDisk: { kind: 'Shared', fsType: 'ext4', readOnly: false } },
      ],
      [
        'rbd',
        { rbd: { image: 'i', monitors: ['m'] } },
        { rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
      ],
      [
        'iscsi',
        { iscsi: { iqn: 'iqn.2001-04.com.example:disk', lun: 0, targetPortal: '1.2.3.4' } },
        { iscsi: { iscsiInterface: 'default' } },
      ],
      [
        'scaleIO',
        { scaleIO: { gateway: 'g', system: 's', volumeName: 'v', secretRef: { name: 'n' } } },
        { scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' } },
      ],
    ])('defaults of %s', async (_, source, expected) => {
      const { body } = await withVolumes({ name: 'v', ...source });
      expect((body.spec['volumes'] as Json[])[0]).toMatchObject(expected);
    });
  });

  const claim = (spec: Json = {}): Json => ({
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });
  const snapshot = { apiGroup: 'snapshot.example.com', kind: 'VolumeSnapshot', name: 's' };

  describe('2.4: PersistentVolumeClaim', () => {
    test('defaults', async () => {
      const { body } = await create('persistentvolumeclaims', claim());
      expect(body).toMatchObject({ spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } });
    });

    test.each<[string, Json, string]>([
      ['no access modes', { accessModes: [] }, 'spec.accessModes'],
      ['an unknown access mode', { accessModes: ['Sometimes'] }, 'spec.accessModes'],
      ['no storage', { resources: { requests: {} } }, 'spec.resources.requests.storage'],
      ['negative storage', { resources: { requests: { storage: '-1' } } }, 'spec.resources.requests.storage'],
      ['an unknown mode', { volumeMode: 'Stream' }, 'spec.volumeMode'],
      ['a class that is no name', { storageClassName: 'Not A Name' }, 'spec.storageClassName'],
      [
        'a selector that cannot be',
        { selector: { matchLabels: { 'a b': 'c' } } },
        'spec.selector.matchLabels',
      ],
      [
        'sources that differ',
        {
          dataSource: { kind: 'PersistentVolumeClaim', name: 'a' },
          dataSourceRef: { kind: 'PersistentVolumeClaim', name: 'b' },
        },
        'spec',
      ],
    ])('%s is refused', async (_, spec, field) => {
      const { status, body } = await create('persistentvolumeclaims', claim(spec));
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: [field] });
    });

    test('dataSource drops unsupported kinds, dataSourceRef accepts any object; each defaults to the other', async () => {
      const core = { kind: 'ConfigMap', name: 'c' };
      expect(
        (await create('persistentvolumeclaims', claim({ dataSource: core }))).body.spec,
      ).not.toHaveProperty('dataSource');
      const refused = await create('persistentvolumeclaims', claim({ dataSourceRef: core }));
      expect(refused.status).toBe(422);
      const any = await create('persistentvolumeclaims', claim({ dataSourceRef: snapshot }));
      expect(any.body.spec).toMatchObject({ dataSource: snapshot, dataSourceRef: snapshot });
    });

    test('the spec is immutable but for growth of a bound claim', async () => {
      const growing = { metadata: { name: 'growing' }, provisioner: 'x/y', allowVolumeExpansion: true };
      await plane.post(plane.path('storage/v1', 'storageclasses'), growing);
      const made = await create('persistentvolumeclaims', claim({ storageClassName: 'growing' }));
      const path = one('persistentvolumeclaims', made);
      const bad = [{ storageClassName: 'slow' }, { volumeMode: 'Block' }, { accessModes: ['ReadOnlyMany'] }];
      for (const spec of bad) {
        expect((await plane.patch(path, { spec })).status).toBe(422);
      }
      await plane.patch(path, { spec: { volumeName: 'pv' } });
      await plane.patch(`${path}/status`, { status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
      const resize = (storage: string): Promise<Reply> =>
        plane.patch(path, { spec: { resources: { requests: { storage } } } });
      expect((await resize('2Gi')).status).toBe(200);
      expect((await resize('1Gi')).status).toBe(422);
    });
  });

  const volume = (spec: Json = {}): Json => ({
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      hostPath: { path: '/data' },
      ...spec,
    },
  });

  describe('2.5: PersistentVolume', () => {
    test('defaults', async () => {
      const { body } = await create('persistentvolumes', volume());
      expect(body).toMatchObject({
        spec: { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' },
        status: { phase: 'Pending' },
      });
    });

    const affinity = (terms: unknown): Json => ({ nodeAffinity: { required: { nodeSelectorTerms: terms } } });
    test.each<[string, Json, string]>([
      ['no access modes', { accessModes: [] }, 'spec.accessModes'],
      ['no capacity', { capacity: {} }, 'spec.capacity'],
      ['more than storage', { capacity: { storage: '1Gi', cpu: '1' } }, 'spec.capacity'],
      ['no source', { hostPath: null }, 'spec'],
      ['two sources', { nfs: { server: 's', path: '/x' } }, 'spec.nfs'],
      ['an unknown policy', { persistentVolumeReclaimPolicy: 'Keep' }, 'spec.persistentVolumeReclaimPolicy'],
      [
        'recycling of /',
        { hostPath: { path: '/' }, persistentVolumeReclaimPolicy: 'Recycle' },
        'spec.persistentVolumeReclaimPolicy',
      ],
      ['a class that is no name', { storageClassName: 'Not A Name' }, 'spec.storageClassName'],
      ['no terms of affinity', affinity([]), 'spec.nodeAffinity.required.nodeSelectorTerms'],
      ['local without affinity', { hostPath: null, local: { path: '/mnt/x' } }, 'spec.nodeAffinity'],
      [
        'local that goes up',
        { hostPath: null, local: { path: '/mnt/..' }, ...affinity([{}]) },
        'spec.local.path',
      ],
      ['csi without handle', { hostPath: null, csi: { driver: 'd.example.com' } }, 'spec.csi.volumeHandle'],
    ])('%s is refused', async (_, spec, field) => {
      const { status, body } = await create('persistentvolumes', volume(spec));
      expect({ status, fields: fieldsOf(body) }).toEqual({
        status: 422,
        fields: expect.arrayContaining([expect.stringContaining(field)]) as unknown,
      });
    });

    test.each<[string, Json]>([
      [
        'azureFile with secretNamespace',
        { azureFile: { secretName: 's', shareName: 'n', secretNamespace: 'x' } },
      ],
      [
        'glusterfs with endpointsNamespace',
        { glusterfs: { endpoints: 'e', path: 'p', endpointsNamespace: 'x' } },
      ],
      [
        'csi with references of both parts',
        {
          csi: {
            driver: 'd.example.com',
            volumeHandle: 'h',
            nodeStageSecretRef: { name: 'n', namespace: 'x' },
          },
        },
      ],
      [
        'storageos with an object reference',
        { storageos: { volumeName: 'v', volumeNamespace: 'x', secretRef: { name: 'n', namespace: 'x' } } },
      ],
      [
        'rbd with a reference of both parts',
        { rbd: { image: 'i', monitors: ['m'], secretRef: { name: 'n', namespace: 'x' } } },
      ],
      [
        'local with affinity',
        {
          local: { path: '/mnt/x' },
          ...affinity([{ matchExpressions: [{ key: 'k', operator: 'Exists' }] }]),
        },
      ],
    ])('takes %s', async (_, source) => {
      const { status, body } = await create('persistentvolumes', volume({ hostPath: null, ...source }));
      expect({ status, message: body.message }).toEqual({ status: 201 });
      expect(body.spec).toMatchObject(source);
    });

    test('the source is immutable, status is the system’s', async () => {
      const made = await create('persistentvolumes', volume());
      const path = `/api/v1/persistentvolumes/${made.body.metadata.name}`;
      const moved = await plane.patch(path, { spec: { hostPath: { path: '/other' } } });
      expect({ status: moved.status, fields: fieldsOf(moved.body) }).toEqual({
        status: 422,
        fields: ['spec.persistentvolumesource'],
      });
      await plane.patch(path, { status: { phase: 'Bound' } });
      expect((await plane.get(path)).body.status).toMatchObject({ phase: 'Pending' });
      const status = { phase: 'Released', message: 'm', reason: 'R' };
      expect((await plane.patch(`${path}/status`, { status })).body.status).toEqual(status);
    });
  });

  describe('2.6: StorageClass', () => {
    test('defaults', async () => {
      const { body } = await create('storageclasses', { provisioner: 'example.com/d' });
      expect(body).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
    });

    test.each<[string, Json, string]>([
      ['no provisioner', {}, 'provisioner'],
      ['a provisioner that is no name', { provisioner: 'not a name' }, 'provisioner'],
      ['an unknown policy', { provisioner: 'p', reclaimPolicy: 'Keep' }, 'reclaimPolicy'],
      ['an unknown mode', { provisioner: 'p', volumeBindingMode: 'Later' }, 'volumeBindingMode'],
      ['a parameter without name', { provisioner: 'p', parameters: { '': 'x' } }, 'parameters'],
      [
        'a topology without values',
        { provisioner: 'p', allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: [] }] }] },
        'allowedTopologies[0].matchLabelExpressions[0].values',
      ],
    ])('%s is refused', async (_, object, field) => {
      const { status, body } = await create('storageclasses', object);
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: [field] });
    });

    test('provisioner, parameters, policy and mode are immutable; expansion is not; a merge replaces topologies', async () => {
      const topology = (zone: string): Json => ({
        allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: [zone] }] }],
      });
      const { body } = await create('storageclasses', {
        provisioner: 'p',
        parameters: { a: 'b' },
        ...topology('a'),
      });
      const path = plane.path('storage/v1', `storageclasses/${body.metadata.name}`);
      for (const patch of [
        { provisioner: 'q' },
        { parameters: { a: 'c' } },
        { reclaimPolicy: 'Retain' },
        { volumeBindingMode: 'WaitForFirstConsumer' },
      ]) {
        const { status, body: error } = await plane.patch(path, patch);
        expect({ status, fields: fieldsOf(error) }).toEqual({ status: 422, fields: Object.keys(patch) });
      }
      expect((await plane.patch(path, { allowVolumeExpansion: true })).status).toBe(200);
    });
  });

  describe('2.7: VolumeAttachment', () => {
    const attachment = (spec: Json = {}): Json => ({
      spec: { attacher: 'a.example.com', nodeName: 'n1', source: { persistentVolumeName: 'pv' }, ...spec },
    });

    test.each<[string, Json, string]>([
      ['no attacher', { attacher: '' }, 'spec.attacher'],
      ['no node', { nodeName: '' }, 'spec.nodeName'],
      ['no source', { source: {} }, 'spec.source'],
      [
        'two sources',
        { source: { persistentVolumeName: 'pv', inlineVolumeSpec: volume()['spec'] } },
        'spec.source.inlineVolumeSpec',
      ],
    ])('%s is refused', async (_, spec, field) => {
      const { status, body } = await create('volumeattachments', attachment(spec));
      expect({ status, fields: fieldsOf(body) }).toEqual({ status: 422, fields: [field] });
    });

    test('status is set by the attaching entity, through its subresource', async () => {
      const { body } = await create('volumeattachments', { ...attachment(), status: { attached: true } });
      expect(body.status).toEqual({ attached: false });
      const path = plane.path('storage/v1', `volumeattachments/${body.metadata.name}`);
      const status = {
        attached: true,
        attachmentMetadata: { device: '/dev/x' },
        detachError: { message: 'm' },
      };
      expect((await plane.patch(`${path}/status`, { status })).body.status).toMatchObject(status);
      expect((await plane.patch(path, { status: { attached: false } })).body.status).toMatchObject({
        attached: true,
      });
      const moved = await plane.patch(path, { spec: { nodeName: 'n2' } });
      expect({ status: moved.status, fields: fieldsOf(moved.body) }).toEqual({
        status: 422,
        fields: ['spec'],
      });
    });
  });
});
