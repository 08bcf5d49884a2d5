import { describe, expect, test } from 'vitest';
import type { PersistentVolumeSpec, Pod, Volume } from '#api/gen/core-v1.ts';
import { gatesOn } from '#api/schema/feature-gates.ts';
import { attachableOfVolume, attachNames, usingPod } from './model.ts';

const NAMES = attachNames({ domain: 'x.io' }, gatesOn({}));

const attachable = (spec: PersistentVolumeSpec): ReturnType<typeof attachableOfVolume> =>
  attachableOfVolume({ metadata: { name: 'pv' }, spec }, NAMES);

const CSI = { csi: { driver: 'd', volumeHandle: 'h' } } as const;

describe('attachableOfVolume', () => {
  test.each<PersistentVolumeSpec>([
    { hostPath: { path: '/x' } },
    { nfs: { server: 's', path: '/' } },
    { vsphereVolume: { volumePath: 'v' } },
  ])('%j is not attached', (spec) => {
    expect(attachable(spec)).toBeUndefined();
  });

  test.each<[PersistentVolumeSpec, object]>([
    [
      CSI,
      {
        unique: 'x.io/csi/d^h',
        attacher: { driver: 'd', handle: 'h', source: { persistentVolumeName: 'pv' } },
      },
    ],
    [{ iscsi: { targetPortal: 'p', iqn: 'i', lun: 0 } }, { unique: 'x.io/iscsi/p:i:0' }],
    [
      { cinder: { volumeID: 'c' } },
      { unique: 'x.io/csi/cinder.csi.openstack.org^c', migratedFrom: 'x.io/cinder' },
    ],
  ])('%j', (spec, expected) => {
    expect(attachable(spec)).toMatchObject({ label: 'pv', exclusive: false, ...expected });
  });

  test.each<[PersistentVolumeSpec['accessModes'], boolean]>([
    [[], false],
    [['ReadWriteOnce'], true],
    [['ReadWriteOncePod'], true],
    [['ReadWriteOnce', 'ReadOnlyMany'], false],
    [['ReadWriteMany'], false],
  ])('with %j is on one node only: %j', (accessModes = [], exclusive) => {
    expect(attachable({ ...CSI, accessModes })?.exclusive).toBe(exclusive);
  });
});

describe('usingPod', () => {
  const VOLUMES: readonly Volume[] = [
    { name: 'none', emptyDir: {} },
    { name: 'claimed', persistentVolumeClaim: { claimName: 'c' } },
    { name: 'made', ephemeral: { volumeClaimTemplate: { spec: {} } } },
    { name: 'disk', awsElasticBlockStore: { volumeID: 'vol-1' } },
    { name: 'lent', csi: { driver: 'd' } },
  ];
  const pod = (volumes = VOLUMES, more: Pick<Pod, 'metadata' | 'status'> = {}): Pod => ({
    spec: { nodeName: 'n', containers: [], volumes },
    ...more,
    metadata: { namespace: 'ns', name: 'p', uid: 'u', ...more.metadata },
  });

  test('has the volumes that may have to be attached', () => {
    expect(usingPod(pod(), NAMES)?.uses).toMatchObject([
      { kind: 'claim', key: 'ns/c' },
      { kind: 'claim', key: 'ns/p-made', createdFor: 'u' },
      {
        kind: 'inline',
        volume: {
          unique: 'x.io/csi/ebs.csi.aws.com^vol-1',
          label: 'disk',
          exclusive: true,
          migratedFrom: 'x.io/aws-ebs',
          attacher: {
            source: {
              inlineVolumeSpec: {
                accessModes: ['ReadWriteOnce'],
                csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' },
              },
            },
          },
        },
      },
    ]);
  });

  test('is nothing without a node or such a volume', () => {
    expect(usingPod({ ...pod(), spec: { containers: [], volumes: VOLUMES } }, NAMES)).toBeUndefined();
    expect(usingPod(pod([{ name: 'none', emptyDir: {} }]), NAMES)).toBeUndefined();
  });

  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const containers = (state: object): NonNullable<Pod['status']> => ({
    containerStatuses: [{ name: 'a', image: '', imageID: '', ready: false, restartCount: 0, state }],
  });
  test.each<[string, Pick<Pod, 'metadata' | 'status'>, boolean]>([
    ['new', {}, false],
    ['done', { status: { phase: 'Succeeded' } }, true],
    ['failed', { status: { phase: 'Failed' } }, true],
    ['on its way out, and runs', { metadata, status: containers({ running: {} }) }, false],
    [
      'on its way out, and has ended',
      { metadata, status: containers({ terminated: { exitCode: 0 } }) },
      true,
    ],
    ['on its way out, and never ran', { metadata }, true],
  ])('that is %s', (_, more, ended) => {
    expect(usingPod(pod(VOLUMES, more), NAMES)?.ended).toBe(ended);
  });
});
