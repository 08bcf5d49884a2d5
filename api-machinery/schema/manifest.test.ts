import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import {
  type DecodedObject,
  decodeManifestDocument,
  defaultAndValidatePod,
  foldStringData,
} from './manifest.ts';

const vocabulary = VOCABULARIES.plat;
const decodeAll = (value: unknown): readonly DecodedObject[] => decodeManifestDocument(value, vocabulary);
const summary = (value: unknown): readonly unknown[] =>
  decodeAll(value).map(({ kind, identity, item, errors }) => [
    kind,
    identity,
    item,
    errors.map((error) => `${error.kind} ${error.field}`),
  ]);

const pod = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'a', image: 'x' }] },
});
const configMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'c', namespace: 'n' },
  data: { a: 'b' },
};

describe('decodeManifestDocument', () => {
  it('gives a pod its namespace and defaults', () => {
    const [decoded] = decodeAll(pod('web'));
    expect(decoded).toMatchObject({ kind: 'Pod', identity: 'Pod default/web', errors: [] });
    expect(decoded?.object).toMatchObject({
      metadata: { name: 'web', namespace: 'default' },
      spec: { restartPolicy: 'Always', containers: [{ imagePullPolicy: 'Always' }] },
    });
  });

  test.each([
    ['a ConfigMap', configMap, [['ConfigMap', 'ConfigMap n/c', undefined, []]]],
    [
      'a PersistentVolume, which has no namespace',
      {
        apiVersion: 'v1',
        kind: 'PersistentVolume',
        metadata: { name: 'p' },
        spec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' }, hostPath: { path: '/p' } },
      },
      [['PersistentVolume', 'PersistentVolume p', undefined, []]],
    ],
    [
      'a claim',
      {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'p' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
      [['PersistentVolumeClaim', 'PersistentVolumeClaim default/p', undefined, []]],
    ],
    [
      'the addresses of servers',
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        metadata: { name: 'gluster' },
        subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 1 }] }],
      },
      [['Endpoints', 'Endpoints default/gluster', undefined, []]],
    ],
    [
      'a secret reference of a volume driver, which has no namespace',
      {
        apiVersion: `storage.${VOCABULARIES.kubernetes.apiGroupDomain}/v1`,
        kind: 'CSIDriver',
        metadata: { name: 'csi.example.org' },
        spec: { attachRequired: false },
      },
      [['CSIDriver', 'CSIDriver csi.example.org', undefined, []]],
    ],
    [
      'a list of different kinds',
      { apiVersion: 'v1', kind: 'List', items: [pod('a'), configMap] },
      [
        ['Pod', 'Pod default/a', 0, []],
        ['ConfigMap', 'ConfigMap n/c', 1, []],
      ],
    ],
    [
      'a list of one kind whose items leave out the kind',
      { apiVersion: 'v1', kind: 'ConfigMapList', metadata: {}, items: [{ metadata: { name: 'x' } }] },
      [['ConfigMap', 'ConfigMap default/x', 0, []]],
    ],
    ['an empty list', { apiVersion: 'v1', kind: 'PodList', items: null }, []],
    [
      'a list with bad items beside good ones',
      {
        apiVersion: 'v1',
        kind: 'List',
        items: [3, null, { apiVersion: 'v1', kind: 'List', items: [] }, pod('a'), {}],
      },
      [
        ['Unknown', 'object', 0, ['FieldValueTypeInvalid document']],
        ['Unknown', 'object', 1, ['FieldValueTypeInvalid document']],
        ['Unknown', 'List', 2, ['FieldValueForbidden kind']],
        ['Pod', 'Pod default/a', 3, []],
        ['Unknown', 'object', 4, ['FieldValueRequired apiVersion']],
      ],
    ],
    [
      'an item of another kind than its list',
      { apiVersion: 'v1', kind: 'PodList', items: [configMap] },
      [['Unknown', 'ConfigMap n/c', 0, ['FieldValueInvalid kind']]],
    ],
    [
      'a list whose items are none',
      { apiVersion: 'v1', kind: 'List', items: {} },
      [['Unknown', 'List', undefined, ['FieldValueTypeInvalid items']]],
    ],
    [
      'a kind for another program',
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } },
      [['Unknown', 'Deployment default/d', undefined, ['FieldValueNotSupported kind']]],
    ],
    [
      'a pod of another version',
      { ...pod('a'), apiVersion: 'v2' },
      [['Unknown', 'Pod default/a', undefined, ['FieldValueNotSupported apiVersion']]],
    ],
    ['no kind', { apiVersion: 'v1' }, [['Unknown', 'object', undefined, ['FieldValueRequired kind']]]],
    ['a text', 'hello', [['Unknown', 'object', undefined, ['FieldValueTypeInvalid document']]]],
    [
      'a pod without a name',
      { apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'x-' }, spec: { containers: [] } },
      [['Pod', 'Pod', undefined, ['FieldValueRequired metadata.name']]],
    ],
    [
      'names that lead elsewhere',
      { ...configMap, metadata: { name: '../../etc', namespace: 'a/b' } },
      [
        [
          'ConfigMap',
          'ConfigMap a/b/../../etc',
          undefined,
          ['FieldValueInvalid metadata.name', 'FieldValueInvalid metadata.namespace'],
        ],
      ],
    ],
  ])('reads %s', (_, value, expected) => {
    expect(summary(value)).toEqual(expected);
  });

  it('names the supported kinds and the closest match', () => {
    const [decoded] = decodeAll({ apiVersion: 'v1', kind: 'Pdo' });
    expect(decoded?.errors[0]?.detail).toMatch(/Pod, ConfigMap, Secret.*did you mean "Pod"/);
  });

  it('moves the text of a secret into its data', () => {
    const [decoded] = decodeAll({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { a: 'AAAA', b: 'AAAA' },
      stringData: { b: 'é', c: '' },
    });
    expect(decoded?.errors).toEqual([]);
    expect(decoded?.object).toMatchObject({ type: 'Opaque', data: { a: 'AAAA', b: 'w6k=', c: '' } });
    expect(decoded?.object).not.toHaveProperty('stringData');
  });

  it('checks keys that came as text', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      stringData: { 'a/b': 'hunter2' },
    };
    const [decoded] = decodeAll(secret);
    expect(decoded?.errors.map((error) => error.field)).toEqual(['data[a/b]']);
    expect(JSON.stringify(decoded?.errors)).not.toContain('hunter2');
  });
});

describe('foldStringData', () => {
  it('leaves a secret without text as it is', () => {
    const secret = { data: { a: 'AAAA' } };
    expect(foldStringData(secret)).toBe(secret);
  });
});

describe('defaultAndValidatePod', () => {
  const check = (value: unknown): readonly string[] => {
    const [decoded] = decodeAll(value);
    if (decoded?.kind !== 'Pod') throw new Error('no pod');
    const { errors } = defaultAndValidatePod(decoded.object, { vocabulary }, decoded.errors);
    return errors.map((error) => `${error.kind} ${error.field}`);
  };

  it('accepts a good pod', () => expect(check(pod('a'))).toEqual([]));

  it('reports each error once, regardless of the check that finds it', () => {
    const value = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'A' },
      spec: {
        containers: [
          { image: 'x', command: 'sh', volumeMounts: [{ name: 'gone' }], imagePullPolicy: 'Sometimes' },
        ],
        volumes: [{ name: 'v', hostPath: {} }],
      },
    };
    expect(check(value)).toEqual([
      'FieldValueRequired spec.volumes[0].hostPath.path',
      'FieldValueRequired spec.containers[0].name',
      'FieldValueTypeInvalid spec.containers[0].command',
      'FieldValueRequired spec.containers[0].volumeMounts[0].mountPath',
      'FieldValueNotSupported spec.containers[0].imagePullPolicy',
      'FieldValueInvalid metadata.name',
      'FieldValueNotFound spec.containers[0].volumeMounts[0].name',
    ]);
  });

  it('reports no error below an unreadable value', () => {
    const value = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: 'x' } };
    expect(check(value)).toEqual(['FieldValueTypeInvalid spec.containers']);
  });
});
