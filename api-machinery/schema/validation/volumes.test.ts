import { describe, expect, it, test } from 'vitest';
import { errorsOf } from './base-pod.fixture.ts';
import { VOLUME_SOURCE_RULES } from './volume-sources.ts';

const volumeErrors = (...volumes: readonly object[]): readonly string[] => errorsOf({ spec: { volumes } });
/** Returns the validation errors of one volume's source: `FieldValueRequired path`. */
const sourceErrors = (source: object): readonly string[] =>
  volumeErrors({ name: 'v', ...source }).map((error) =>
    error.replace(' spec.volumes[0].', ' ').replace(` ${Object.keys(source)[0]}.`, ' '),
  );

const many = (kind: string, ...members: readonly string[]): readonly string[] =>
  members.map((member) => `${kind} ${member}`);
const required = (...members: readonly string[]): readonly string[] => many('FieldValueRequired', ...members);
const invalid = (...members: readonly string[]): readonly string[] => many('FieldValueInvalid', ...members);

describe('volumes', () => {
  it('have names of their own', () => {
    expect(volumeErrors({ name: 'a' }, { name: 'a' }, { name: '' }, { name: 'A' })).toEqual([
      'FieldValueDuplicate spec.volumes[1].name',
      'FieldValueRequired spec.volumes[2].name',
      'FieldValueInvalid spec.volumes[3].name',
    ]);
  });

  it('have exactly one source', () => {
    expect(
      volumeErrors({ name: 'a', emptyDir: {}, hostPath: { path: '/' }, configMap: { name: 'c' } }),
    ).toHaveLength(2);
  });
});

/** A source with its required members, and the names of those. */
const SOURCES: readonly (readonly [
  source: string,
  good: Readonly<Record<string, unknown>>,
  needs: readonly string[],
])[] = [
  ['persistentVolumeClaim', { claimName: 'c' }, ['claimName']],
  ['configMap', { name: 'c' }, ['name']],
  ['secret', { secretName: 's' }, ['secretName']],
  ['downwardAPI', { items: [{ path: 'a', fieldRef: { fieldPath: 'metadata.labels' } }] }, []],
  ['projected', { sources: [{ secret: { name: 's' } }] }, []],
  ['emptyDir', { medium: 'Memory', sizeLimit: '1Gi' }, []],
  ['hostPath', { path: '/x', type: 'Directory' }, ['path']],
  ['awsElasticBlockStore', { volumeID: 'v' }, ['volumeID']],
  ['azureDisk', { diskName: 'd', diskURI: 'https://x' }, ['diskName', 'diskURI']],
  ['azureFile', { secretName: 's', shareName: 't' }, ['secretName', 'shareName']],
  ['cephfs', { monitors: ['m'] }, ['monitors']],
  ['cinder', { volumeID: 'v' }, ['volumeID']],
  ['csi', { driver: 'x.io' }, ['driver']],
  ['fc', { wwids: ['w'] }, []],
  ['flexVolume', { driver: 'x/y' }, ['driver']],
  ['flocker', { datasetName: 'd' }, []],
  ['gcePersistentDisk', { pdName: 'p' }, ['pdName']],
  ['glusterfs', { endpoints: 'e', path: 'p' }, ['endpoints', 'path']],
  ['iscsi', { targetPortal: 't', iqn: 'iqn.2001-04.com.example:storage', lun: 0 }, ['targetPortal', 'iqn']],
  ['nfs', { server: 's', path: '/p' }, ['server', 'path']],
  ['photonPersistentDisk', { pdID: 'p' }, ['pdID']],
  ['portworxVolume', { volumeID: 'v' }, ['volumeID']],
  ['quobyte', { registry: 'a:1,b:2', volume: 'v' }, ['registry', 'volume']],
  ['rbd', { image: 'i', monitors: ['m'] }, ['image', 'monitors']],
  [
    'scaleIO',
    { gateway: 'g', system: 's', secretRef: { name: 'r' }, volumeName: 'v' },
    ['gateway', 'system', 'volumeName'],
  ],
  ['storageos', { volumeName: 'v' }, ['volumeName']],
  ['vsphereVolume', { volumePath: 'p' }, ['volumePath']],
  [
    'ephemeral',
    {
      volumeClaimTemplate: {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    },
    ['volumeClaimTemplate'],
  ],
  ['gitRepo', { repository: 'r' }, ['repository']],
];

describe.each(SOURCES)('%s', (source, good, needs) => {
  it('is valid with its required members', () => expect(sourceErrors({ [source]: good })).toEqual([]));

  test.each(needs)('needs %s', (member) => {
    const { [member]: _, ...rest } = good;
    expect(sourceErrors({ [source]: rest })).toEqual([`FieldValueRequired ${member}`]);
  });
});

it('has a row for every source', () => {
  expect(SOURCES.map(([source]) => source).toSorted()).toEqual(Object.keys(VOLUME_SOURCE_RULES).toSorted());
});

describe('rules of the sources', () => {
  test.each([
    ['a medium that is none', { emptyDir: { medium: 'Disk' } }, many('FieldValueNotSupported', 'medium')],
    ['huge pages', { emptyDir: { medium: 'HugePages-2Mi' } }, []],
    ['a negative size', { emptyDir: { sizeLimit: '-1' } }, invalid('sizeLimit')],
    ['a host path that climbs', { hostPath: { path: '/a/../b' } }, invalid('path')],
    ['a relative NFS path', { nfs: { server: 's', path: 'p' } }, invalid('path')],
    ['a partition beyond 255', { gcePersistentDisk: { pdName: 'p', partition: 256 } }, invalid('partition')],
    [
      'a bad iSCSI name',
      { iscsi: { targetPortal: 't', iqn: 'disk', lun: 256, initiatorName: 'x' } },
      invalid('iqn', 'lun', 'initiatorName'),
    ],
    [
      'iSCSI names of the other kinds',
      {
        iscsi: {
          targetPortal: 't',
          iqn: 'eui.0123456789abcdef',
          lun: 255,
          initiatorName: 'naa.0123456789abcdef',
        },
      },
      [],
    ],
    [
      'CHAP without a secret',
      { iscsi: { targetPortal: 't', iqn: 'eui.0123456789abcdef', lun: 0, chapAuthSession: true } },
      required('secretRef'),
    ],
    ['Fibre Channel with nothing', { fc: {} }, required('targetWWNs')],
    ['Fibre Channel with both', { fc: { targetWWNs: ['a'], wwids: ['b'], lun: 1 } }, invalid('targetWWNs')],
    ['Fibre Channel without a lun', { fc: { targetWWNs: ['a'] } }, required('lun')],
    ['Flocker with both', { flocker: { datasetName: 'a', datasetUUID: 'b' } }, invalid('flocker')],
    ['Flocker with neither', { flocker: {} }, required('flocker')],
    ['Flocker with a path', { flocker: { datasetName: 'a/b' } }, invalid('datasetName')],
    [
      'a registry without a port',
      { quobyte: { registry: 'a', volume: 'v', tenant: 't'.repeat(65) } },
      [...invalid('registry'), 'FieldValueTooLong tenant'],
    ],
    [
      'a managed disk elsewhere',
      { azureDisk: { diskName: 'd', diskURI: 'https://x', kind: 'Managed' } },
      invalid('diskURI'),
    ],
    [
      'a blob disk elsewhere',
      { azureDisk: { diskName: 'd', diskURI: '/subscriptions/x' } },
      invalid('diskURI'),
    ],
    [
      'a repository that climbs',
      { gitRepo: { repository: 'r', directory: 'a/../..' } },
      invalid('directory'),
    ],
    [
      'a driver that is a path',
      { csi: { driver: '../x', nodePublishSecretRef: {} } },
      [...invalid('driver'), ...required('nodePublishSecretRef.name')],
    ],
    ['a driver that is too long', { csi: { driver: 'x'.repeat(64) } }, invalid('driver')],
    [
      'a secret without a name',
      { rbd: { image: 'i', monitors: ['m'], secretRef: {} } },
      required('secretRef.name'),
    ],
    [
      'StorageOS with bad names',
      { storageos: { volumeName: 'A', volumeNamespace: 'B' } },
      invalid('volumeName', 'volumeNamespace'),
    ],
    [
      'ScaleIO without a secret',
      { scaleIO: { gateway: 'g', system: 's', volumeName: 'v' } },
      required('secretRef.name'),
    ],
    [
      'a bad mode',
      { secret: { secretName: 's', defaultMode: 512, items: [{ key: 'k', path: 'p', mode: -1 }] } },
      invalid('defaultMode', 'items[0].mode'),
    ],
    [
      'items that lead elsewhere',
      {
        configMap: {
          name: 'c',
          items: [
            { key: '', path: '' },
            { key: 'k', path: '/p' },
            { key: 'k', path: 'a/../../p' },
            { key: 'k', path: '..data/p' },
          ],
        },
      },
      [
        ...required('items[0].key', 'items[0].path'),
        ...invalid('items[1].path', 'items[2].path', 'items[3].path'),
      ],
    ],
    [
      'files of the pod that are none',
      {
        downwardAPI: {
          items: [
            { path: 'a' },
            { path: '', fieldRef: { fieldPath: 'metadata.name' } },
            { path: 'b', fieldRef: { fieldPath: 'status.podIP' } },
            { path: 'c', resourceFieldRef: { resource: 'limits.cpu' } },
            {
              path: 'd',
              fieldRef: { fieldPath: 'metadata.name' },
              resourceFieldRef: { resource: 'limits.cpu' },
            },
          ],
        },
      },
      [
        ...required('items[0]', 'items[1].path'),
        'FieldValueNotSupported items[2].fieldRef.fieldPath',
        ...required('items[3].resourceFieldRef.containerName'),
        ...invalid('items[4]'),
      ],
    ],
    [
      'projections that are none, two, or unnamed',
      {
        projected: {
          sources: [
            {},
            { secret: { name: 'a' }, configMap: { name: 'b' } },
            { secret: {} },
            { configMap: {} },
          ],
        },
      },
      [
        ...required('sources[0]'),
        'FieldValueForbidden sources[1].configMap',
        ...required('sources[2].secret.name', 'sources[3].configMap.name'),
      ],
    ],
    [
      'projections that write one path',
      {
        projected: {
          sources: [
            { secret: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
            { configMap: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
            { serviceAccountToken: { path: 'p' } },
          ],
        },
      },
      many(
        'FieldValueDuplicate',
        'sources[1].configMap.items[0].path',
        'sources[2].serviceAccountToken.path',
      ),
    ],
    [
      'tokens that live too short or lie elsewhere',
      {
        projected: {
          sources: [
            { serviceAccountToken: { path: '../t', expirationSeconds: 599 } },
            { serviceAccountToken: { path: '', expirationSeconds: 2 ** 33 } },
          ],
        },
      },
      [
        ...invalid('sources[0].serviceAccountToken.path', 'sources[0].serviceAccountToken.expirationSeconds'),
        ...required('sources[1].serviceAccountToken.path'),
        ...invalid('sources[1].serviceAccountToken.expirationSeconds'),
      ],
    ],
    [
      'a claim template with more than it may have',
      { ephemeral: { volumeClaimTemplate: { metadata: { name: 'x', labels: { a: 'b' } }, spec: {} } } },
      [
        'FieldValueForbidden volumeClaimTemplate.metadata.name',
        ...required(
          'volumeClaimTemplate.spec.accessModes',
          'volumeClaimTemplate.spec.resources.requests.storage',
        ),
      ],
    ],
  ])('%s', (_, source, errors) => {
    expect(sourceErrors(source)).toEqual(errors);
  });

  it('leave room for the name of an ephemeral claim', () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } };
    const volumes = [{ name: 'a'.repeat(63), ephemeral: { volumeClaimTemplate: { spec } } }];
    expect(errorsOf({ metadata: { name: 'b'.repeat(200) }, spec: { volumes } })).toEqual([
      'FieldValueInvalid spec.volumes[0].name',
    ]);
  });
});
