/** Volume expansion: the node expands file systems, and claims report it. */
import { expect, test } from 'vitest';
import type { Event, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createTestDisks } from '#volumes/devices/disk.fixture.ts';
import { eventually } from '../../testing/wait.ts';
import { sh } from '../lifecycle/support.ts';
import { type Joined, NODE, STRATEGIC, startJoined } from './support.ts';

const STORAGE = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1`;
const CLAIM = '/api/v1/namespaces/default/persistentvolumeclaims/data';
const VOLUME = '/api/v1/persistentvolumes/disk';

/** A claim that is bound to a disk of this node. */
async function makeClaim({ plane }: Joined, path: string, storage: string): Promise<void> {
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'disks' };
  const made = [
    await plane.post(`/apis/${STORAGE}/storageclasses`, {
      apiVersion: STORAGE,
      kind: 'StorageClass',
      metadata: { name: 'disks' },
      provisioner: 'none',
      allowVolumeExpansion: true,
    }),
    await plane.post('/api/v1/persistentvolumes', {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: {
        ...spec,
        capacity: { storage },
        local: { path, fsType: 'btrfs' },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [NODE] }] }],
          },
        },
      },
    }),
    await plane.post('/api/v1/namespaces/default/persistentvolumeclaims', {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { ...spec, volumeName: 'disk', resources: { requests: { storage } } },
    }),
  ];
  for (const { status, text } of made) if (status !== 201) throw new Error(text);
}

test('a file system grows while a pod has it, the claim says so, and the pod sees the room', async () => {
  await using disks = await createTestDisks();
  await using joined = await startJoined(['--sync-frequency=1s']);
  const { plane } = joined;
  await using disk = await disks.disk(256);
  await makeClaim(joined, disk.device, '256Mi');
  const claim = async (): Promise<PersistentVolumeClaim> =>
    (await plane.get(CLAIM)).json as PersistentVolumeClaim;
  await eventually(async () => (await claim()).status?.phase === 'Bound', { what: 'the claim is bound' });

  await joined.run('user', {
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    containers: [
      sh(
        'c',
        'echo kept > /data/f; trap exit TERM; while sleep 0.1; do df -m /data | tail -n 1 > /data/df; done',
        {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ),
    ],
  });
  await joined.shows('user', ({ status }) => status?.phase === 'Running');

  // As a driver for such disks would do it. The node begins with the last of these.
  await disk.grow(512);
  await joined.patch(CLAIM, { spec: { resources: { requests: { storage: '512Mi' } } } });
  const conditions = [
    { type: 'FileSystemResizePending', status: 'True' },
    { type: 'SomethingElse', status: 'True' },
  ];
  await joined.patch(`${CLAIM}/status`, { status: { conditions } }, STRATEGIC);
  await joined.patch(VOLUME, { spec: { capacity: { storage: '512Mi' } } });

  await eventually(async () => (await claim()).status?.capacity?.['storage'] === '512Mi', {
    timeoutMs: 20_000,
    what: 'the claim has grown',
  });
  expect((await claim()).status?.conditions?.map(({ type }) => type)).toEqual(['SomethingElse']);
  const reasons = async (): Promise<readonly string[]> => {
    const { items } = (await plane.get('/api/v1/namespaces/default/events')).json as { items: Event[] };
    return items
      .filter(({ reason }) => reason === 'FileSystemResizeSuccessful')
      .map(({ involvedObject }) => `${involvedObject.kind} ${involvedObject.name}`)
      .toSorted();
  };
  await eventually(async () => (await reasons()).join() === 'PersistentVolumeClaim data,Pod user', {
    what: 'events of pod and claim',
  });
  const folder = await disks.folder('look');
  await disks.run('mount', [disk.device, folder]);
  await eventually(
    async () => {
      const { stdout } = await disks.run('cat', [`${folder}/df`]);
      return Number(stdout.trim().split(/\s+/)[1]) === 512;
    },
    { what: 'the pod sees the room' },
  );
  await disks.run('umount', [folder]);
  await joined.remove('user');
  await joined.isGone('user');
});
