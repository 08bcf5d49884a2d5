/** Volumes of a real CSI driver on a joined node, attached by an attacher outside. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { attachmentName } from '#api/meta/volume-names.ts';
import type { Node } from '#api/schema/gen/core-v1.ts';
import type { CSINode } from '#api/schema/gen/storage-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { startTestDriver } from '#volumes/csi/testing/start-driver.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, MERGE, NODE, startJoined } from './support.ts';

const { apiGroupDomain } = VOCABULARIES.plat;
const STORAGE = `storage.${apiGroupDomain}/v1`;
const ATTACHMENTS = `/apis/${STORAGE}/volumeattachments`;
const DRIVER = 'disks.csi.example.org';
const ATTACHMENT = `${ATTACHMENTS}/${attachmentName(DRIVER, 'handle', NODE)}`;

async function makeClaim({ plane }: Joined): Promise<void> {
  const common = { accessModes: ['ReadWriteOnce'], storageClassName: '' };
  const make = async (path: string, object: object): Promise<void> => {
    const { status, text } = await plane.post(path, object);
    if (status !== 201) throw new Error(`${path}: ${text}`);
  };
  await make(`/apis/${STORAGE}/csidrivers`, {
    apiVersion: STORAGE,
    kind: 'CSIDriver',
    metadata: { name: DRIVER },
    spec: { attachRequired: true, podInfoOnMount: true },
  });
  await make('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      ...common,
      capacity: { storage: '1Gi' },
      csi: { driver: DRIVER, volumeHandle: 'handle' },
      claimRef: { namespace: 'default', name: 'disk' },
    },
  });
  await make('/api/v1/namespaces/default/persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'disk' },
    spec: { ...common, volumeName: 'disk', resources: { requests: { storage: '1Gi' } } },
  });
}

test('a volume is attached from outside, mounted by its driver, and given back', async () => {
  await using folder = await createTempDir('na-csi-');
  await using joined = await startJoined();
  await using driver = await startTestDriver({
    name: DRIVER,
    registryDir: join(joined.agent.root, 'plugins_registry'),
    dataDir: folder.path,
    nodeID: 'machine-7',
    topology: { 'example.org/rack': 'r1' },
    maxVolumes: 3,
  });
  const { plane } = joined;
  const told = await eventually(async () => {
    const { spec } = (await plane.get(`/apis/${STORAGE}/csinodes/${NODE}`)).json as CSINode;
    return spec.drivers.find(({ name }) => name === DRIVER);
  });
  expect(told).toEqual({
    name: DRIVER,
    nodeID: 'machine-7',
    topologyKeys: ['example.org/rack'],
    allocatable: { count: 3 },
  });
  const { metadata } = (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  expect(metadata?.labels?.['example.org/rack']).toBe('r1');

  await makeClaim(joined);
  await joined.run('p', {
    volumes: [{ name: 'disk', persistentVolumeClaim: { claimName: 'disk' } }],
    containers: [
      sh('c', `echo written > /disk/x; ${WAIT}`, { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }),
    ],
  });
  await eventually(async () => (await plane.get(ATTACHMENT)).status === 200, { timeoutMs: 20_000 });
  expect(await driver.methods()).toEqual([]);
  const status = { attached: true, attachmentMetadata: { slot: '9' } };
  await joined.patch(`${ATTACHMENT}/status`, { status }, MERGE);
  await joined.shows('p', (pod) => pod.status?.phase === 'Running');
  const staged = (await driver.calls()).find(({ method }) => method === 'NodeStageVolume');
  expect(staged?.request).toMatchObject({ volumeId: 'handle', publishContext: { slot: '9' } });

  await joined.agent.stop('SIGKILL');
  await driver.restart();
  await joined.agent.start();
  await joined.remove('p');
  await joined.isGone('p');
  // Without a grace period the server forgets the pod at once, and the node undoes its volumes afterwards.
  await eventually(async () => (await driver.methods()).length === 4, { timeoutMs: 20_000 });
  expect(await driver.methods()).toEqual([
    'NodeStageVolume',
    'NodePublishVolume',
    'NodeUnpublishVolume',
    'NodeUnstageVolume',
  ]);
  await eventually(async () => (await plane.get(ATTACHMENT)).status === 404, { timeoutMs: 20_000 });
});
