import { describe, expect, test } from 'vitest';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import { type AccessMode, appliesGroup, type CsiVolume, capabilityOf } from './volume.ts';

const volume: CsiVolume = {
  kind: 'persistent',
  driver: 'd.example',
  handle: 'h',
  fsType: 'ext4',
  readOnly: false,
  attributes: {},
  accessModes: ['ReadWriteOnce'],
  mountOptions: [],
};
const use = { block: false, readOnly: false, fsGroup: 1 };
const plain = { capabilities: new Set<never>() };
const gates: ReadonlySet<string> = new Set(['DelegateFSGroupToCSIDriver']);

const [RWO, RWOP, ROX, RWX] = ['ReadWriteOnce', 'ReadWriteOncePod', 'ReadOnlyMany', 'ReadWriteMany'] as const;
const ACCESS: readonly (readonly [readonly AccessMode[], boolean])[] = [
  [[], false],
  [[RWO], true],
  [[RWOP], true],
  [[ROX], false],
  [[RWX], false],
  [[ROX, RWX], false],
  [[RWX, RWO], true],
  [[ROX, RWOP], true],
  [[RWO, ROX, RWX], true],
];

const objectOf = (fsGroupPolicy?: string): CSIDriver => ({
  metadata: {},
  spec: fsGroupPolicy === undefined ? {} : { fsGroupPolicy },
});

describe('the files get the pod’s group', () => {
  test.each(ACCESS)('of a volume with the access modes %j: %s', (accessModes, one) => {
    const given = (policy: string | undefined, changes: Partial<CsiVolume> = {}): boolean =>
      appliesGroup({ ...volume, accessModes, ...changes }, use, plain, { gates, object: objectOf(policy) });
    expect([given('ReadWriteOnceWithFSType'), given(undefined)]).toEqual([one, one]);
    expect(given('ReadWriteOnceWithFSType', { fsType: '' })).toBe(false);
    expect([given('File'), given('File', { fsType: '' })]).toEqual([true, true]);
    expect(given('None')).toBe(false);
    // Only its pod uses it.
    expect(given('ReadWriteOnceWithFSType', { kind: 'ephemeral' })).toBe(true);
    expect(given('ReadWriteOnceWithFSType', { kind: 'ephemeral', fsType: '' })).toBe(false);
  });

  test.each([
    ['a driver without an object', undefined, use, plain, true],
    ['a raw device', objectOf('File'), { ...use, block: true }, plain, false],
    ['one that is only read', objectOf('File'), { ...use, readOnly: true }, plain, false],
    ['a pod without a group', objectOf('File'), { ...use, fsGroup: undefined }, plain, false],
    [
      'a driver that does it',
      objectOf('File'),
      use,
      { capabilities: new Set(['VOLUME_MOUNT_GROUP'] as const) },
      false,
    ],
  ])('%s', (_, object, how, driver, expected) => {
    expect(appliesGroup(volume, how, driver, { gates, object })).toBe(expected);
  });
});

test.each<[readonly AccessMode[], string, string]>([
  [[], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  [[RWX, RWO], 'MULTI_NODE_MULTI_WRITER', 'MULTI_NODE_MULTI_WRITER'],
  [[RWO, RWX], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_MULTI_WRITER'],
  [[RWOP], 'SINGLE_NODE_WRITER', 'SINGLE_NODE_SINGLE_WRITER'],
  [[ROX], 'MULTI_NODE_READER_ONLY', 'MULTI_NODE_READER_ONLY'],
])('of the access modes %j the driver gets the first', (accessModes, mode, exact) => {
  const modeFor = (driver: Parameters<typeof capabilityOf>[2]): unknown =>
    capabilityOf({ ...volume, accessModes }, use, driver, gates).accessMode?.mode;
  expect(modeFor(plain)).toBe(mode);
  expect(modeFor({ capabilities: new Set(['SINGLE_NODE_MULTI_WRITER'] as const) })).toBe(exact);
});
