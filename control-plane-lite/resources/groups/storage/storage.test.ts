import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { csiDriver } from './csi-driver.ts';
import { csiNode } from './csi-node.ts';
import { createCapacityConversion, csiStorageCapacity } from './csi-storage-capacity.ts';
import { storageClass } from './storage-class.ts';
import { volumeAttachment } from './volume-attachment.ts';

const GROUP = `storage.${VOCABULARIES.plat.apiGroupDomain}`;
const metadata = { name: 'fast', creationTimestamp: '2026-11-21T11:59:00Z' };

describe('a storage class', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}/v1.StorageClass`,
    entry: storageClass,
    base: { metadata, provisioner: 'csi.example.com', parameters: { type: 'ssd' } },
  };
  const topology = (...expressions: readonly object[]): Changes => ({
    allowedTopologies: [{ matchLabelExpressions: expressions }],
  });
  const zone = { key: 'zone', values: ['a'] };
  const AT = 'allowedTopologies[0].matchLabelExpressions';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without provisioner', { provisioner: '' }, ['provisioner Required']],
    ['with a broken provisioner', { provisioner: 'a/b/c' }, ['provisioner Invalid']],
    ['with a provisioner in capitals', { provisioner: 'Example.com/Disk' }, []],
    ['with an unnamed parameter', { parameters: { '': 'x' } }, ['parameters Invalid']],
    ['with large parameters', { parameters: { x: 'x'.repeat(256 * 1024) } }, ['parameters TooLong']],
    [
      'with many parameters',
      {
        parameters: Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`p${index}`, ''])),
      },
      ['parameters TooLong'],
    ],
    ['that recycles', { reclaimPolicy: 'Recycle' }, ['reclaimPolicy NotSupported']],
    ['that keeps', { reclaimPolicy: 'Retain' }, []],
    ['in a place', topology(zone), []],
    ['in no place', topology({ key: '-', values: [] }), [`${AT}[0].key Invalid`, `${AT}[0].values Required`]],
    [
      'in a place twice',
      topology(zone, { key: 'zone', values: ['b', 'b'] }),
      [`${AT}[1].key Duplicate`, `${AT}[1].values[1] Duplicate`],
    ],
    [
      'in the same places twice',
      {
        allowedTopologies: [{ matchLabelExpressions: [zone] }, { matchLabelExpressions: [zone] }],
      },
      ['allowedTopologies[1].matchLabelExpressions Duplicate'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['expansion', { allowVolumeExpansion: true, mountOptions: ['ro'] }, []],
    ['provisioner', { provisioner: 'other' }, ['provisioner Forbidden']],
    ['parameters', { parameters: { type: 'hdd' } }, ['parameters Forbidden']],
    ['policy', { reclaimPolicy: 'Retain' }, ['reclaimPolicy Forbidden']],
    ['binding', { volumeBindingMode: 'WaitForFirstConsumer' }, ['volumeBindingMode Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('marks the default class in its row', () => {
    expect(rowOf(subject)).toEqual(['fast', 'csi.example.com', 'Delete', 'Immediate', false, '60s']);
    const key = `storageclass.${VOCABULARIES.plat.domain}/is-default-class`;
    expect(rowOf(subject, { 'metadata.annotations': { [key]: 'true' } })[0]).toBe('fast (default)');
  });
});

describe('a volume attachment', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}/v1.VolumeAttachment`,
    entry: volumeAttachment,
    base: {
      metadata,
      spec: { attacher: 'csi.example.com', nodeName: 'n', source: { persistentVolumeName: 'pv' } },
    },
  };
  const inline = { accessModes: ['ReadWriteOnce'], csi: { driver: 'csi.example.com', volumeHandle: 'h' } };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without attacher', { 'spec.attacher': '' }, ['spec.attacher Required']],
    [
      'with a broken attacher',
      { 'spec.attacher': `${'a'.repeat(64)}_` },
      ['spec.attacher TooLong', 'spec.attacher Invalid'],
    ],
    ['of no node', { 'spec.nodeName': '' }, ['spec.nodeName Required']],
    ['of a broken node', { 'spec.nodeName': '_' }, ['spec.nodeName Invalid']],
    ['of nothing', { 'spec.source': {} }, ['spec.source Required']],
    [
      'of no volume',
      { 'spec.source': { persistentVolumeName: '' } },
      ['spec.source.persistentVolumeName Required'],
    ],
    [
      'of two volumes',
      { 'spec.source.inlineVolumeSpec': inline },
      ['spec.source.inlineVolumeSpec Forbidden'],
    ],
    ['of a volume in itself', { 'spec.source': { inlineVolumeSpec: inline } }, []],
    [
      'of a broken volume',
      { 'spec.source': { inlineVolumeSpec: { ...inline, accessModes: [] } } },
      ['spec.source.inlineVolumeSpec.accessModes Required'],
    ],
    [
      'of a volume that is one of the cluster',
      {
        'spec.source': {
          inlineVolumeSpec: {
            ...inline,
            csi: undefined,
            capacity: { storage: '1Gi' },
            hostPath: { path: '/x' },
          },
        },
      },
      ['spec.source.inlineVolumeSpec.capacity Forbidden', 'spec.source.inlineVolumeSpec.csi Required'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['labels', { 'metadata.labels': { a: 'b' } }, []],
    ['node', { 'spec.nodeName': 'm' }, ['spec Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['is right', { status: { attached: true, attachmentMetadata: { a: 'b' } } }, []],
    [
      'with unnamed metadata',
      { status: { attached: true, attachmentMetadata: { '': 'b' } } },
      ['status.attachmentMetadata Required'],
    ],
    [
      'with large metadata',
      { status: { attached: true, attachmentMetadata: { a: 'b'.repeat(262_144) } } },
      ['status.attachmentMetadata TooLong'],
    ],
    [
      'with long errors',
      {
        status: {
          attached: false,
          attachError: { message: 'x'.repeat(1025) },
          detachError: { message: 'x'.repeat(1025) },
        },
      },
      ['status.attachError.message TooLong', 'status.detachError.message TooLong'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('starts detached, and has a row', () => {
    expect(created(subject, { status: { attached: true } })['status']).toEqual({ attached: false });
    expect(rowOf(subject)).toEqual(['fast', 'csi.example.com', 'pv', 'n', false, '60s']);
  });
});

describe('a CSI driver', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}/v1.CSIDriver`,
    entry: csiDriver,
    base: { metadata, spec: {} },
  };
  const tokens = (...requests: readonly object[]): Changes => ({ 'spec.tokenRequests': requests });

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['with an unknown policy', { 'spec.fsGroupPolicy': 'Moon' }, ['spec.fsGroupPolicy NotSupported']],
    [
      'with an unknown mode',
      { 'spec.volumeLifecycleModes': ['Moon'] },
      ['spec.volumeLifecycleModes[0] NotSupported'],
    ],
    ['with tokens', tokens({ audience: 'a' }, { audience: 'b', expirationSeconds: 600 }), []],
    [
      'with a token twice',
      tokens({ audience: 'a' }, { audience: 'a' }),
      ['spec.tokenRequests[1].audience Duplicate'],
    ],
    [
      'with short and long tokens',
      tokens({ audience: 'a', expirationSeconds: 599 }, { audience: 'b', expirationSeconds: 2 ** 32 + 1 }),
      ['spec.tokenRequests[0].expirationSeconds Invalid', 'spec.tokenRequests[1].expirationSeconds Invalid'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['tokens', { 'spec.tokenRequests': [{ audience: 'a' }], 'spec.storageCapacity': true }, []],
    ['attachment', { 'spec.attachRequired': false }, ['spec.attachRequired Invalid']],
    ['policy', { 'spec.fsGroupPolicy': 'File' }, ['spec.fsGroupPolicy Invalid']],
    ['pod info', { 'spec.podInfoOnMount': true }, ['spec.podInfoOnMount Invalid']],
    ['modes', { 'spec.volumeLifecycleModes': ['Ephemeral'] }, ['spec.volumeLifecycleModes Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has a short name and a row', () => {
    const errors = csiDriver.strategy.nameErrors;
    expect(errors?.('CSI.example.com')).toEqual([]);
    expect(errors?.('a'.repeat(64))).toHaveLength(1);
    expect(rowOf(subject)).toEqual(['fast', true, false, false, '<unset>', false, 'Persistent', '60s']);
    expect(rowOf(subject, tokens({ audience: 'a' }, { audience: 'b' }))[4]).toBe('a,b');
  });
});

describe('a CSI node', () => {
  const driver = { name: 'csi.example.com', nodeID: 'i-1', topologyKeys: ['zone'] };
  const subject: KindSubject = {
    typeRef: `${GROUP}/v1.CSINode`,
    entry: csiNode,
    base: { metadata, spec: { drivers: [driver] } },
  };
  const drivers = (...list: readonly object[]): Changes => ({ 'spec.drivers': list });

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without drivers', drivers(), []],
    ['with a driver twice', drivers(driver, driver), ['spec.drivers[1].name Duplicate']],
    [
      'with a broken driver',
      drivers({
        name: '',
        nodeID: '',
        topologyKeys: ['', '-', 'a', 'a'],
        allocatable: { count: -1 },
      }),
      [
        'spec.drivers[0].name Required',
        'spec.drivers[0].nodeID Required',
        'spec.drivers[0].allocatable.count Invalid',
        'spec.drivers[0].topologyKeys[0] Required',
        'spec.drivers[0].topologyKeys[1] Invalid',
        'spec.drivers[0].topologyKeys[3] Duplicate',
      ],
    ],
    ['with a long ID', drivers({ ...driver, nodeID: 'x'.repeat(193) }), ['spec.drivers[0].nodeID Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['away', drivers(), []],
    ['and another', drivers(driver, { ...driver, name: 'b' }), []],
    ['otherwise', drivers({ ...driver, nodeID: 'i-2' }), ['spec.drivers[0] Invalid']],
  ])('changing its driver %s', (_, changes, expected) => {
    expect(updateFaultsOf(subject, changes)).toEqual(expected);
  });

  it('has a row', () => expect(rowOf(subject)).toEqual(['fast', 1, '60s']));
});

describe('a storage capacity', () => {
  const subject: KindSubject = {
    typeRef: `${GROUP}/v1.CSIStorageCapacity`,
    entry: csiStorageCapacity,
    base: {
      metadata: { ...metadata, namespace: 'default' },
      storageClassName: 'fast',
      capacity: '1Gi',
      nodeTopology: { matchLabels: { zone: 'a' } },
    },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['without class', { storageClassName: '' }, ['storageClassName Invalid']],
    [
      'with a broken topology',
      { 'nodeTopology.matchLabels': { a: '-' } },
      ['nodeTopology.matchLabels[a] Invalid'],
    ],
    [
      'below zero',
      { capacity: '-1', maximumVolumeSize: '-1' },
      ['capacity Invalid', 'maximumVolumeSize Invalid'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['amount', { capacity: '2Gi' }, []],
    ['class', { storageClassName: 'slow' }, ['storageClassName Invalid']],
    ['topology', { nodeTopology: {} }, ['nodeTopology Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('is the same in both versions, and has a row', async () => {
    const conversion = createCapacityConversion(VOCABULARIES.plat);
    const object = objectWith(subject);
    const old = await conversion.fromStorage(structuredClone(object));
    expect(old).toEqual({ ...object, apiVersion: `${GROUP}/v1beta1` });
    expect(await conversion.toStorage(old)).toEqual({ ...object, apiVersion: `${GROUP}/v1` });
    expect(rowOf(subject)).toEqual(['fast', 'fast', '1Gi']);
  });
});
