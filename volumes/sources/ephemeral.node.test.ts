import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { OwnerReference } from '#api/gen/meta-v1.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';

const never = new AbortController().signal;
const pod = testPod('uid-1', [{ name: 'data', ephemeral: { volumeClaimTemplate: { spec: {} } } }]);
const OWNER: OwnerReference = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1', controller: true };

async function createClaim(owner: OwnerReference | undefined): Promise<TestHost> {
  const t = await createTestHost();
  await mkdir(join(t.base, 'data'));
  await writeFile(join(t.base, 'data/f'), 'x');
  t.claims.set('default/web-data', {
    metadata: { name: 'web-data', ...(owner === undefined ? {} : { ownerReferences: [owner] }) },
    spec: { volumeName: 'pv' },
  });
  t.persistentVolumes.set('pv', {
    metadata: { name: 'pv' },
    spec: { local: { path: join(t.base, 'data') } },
  });
  return t;
}

test('a claim that the pod owns is used', async () => {
  await using t = await createClaim(OWNER);
  const manager = createVolumeManager(t.host);
  const volume = (await manager.mountPod(pod, never)).get('data');
  expect(await readFile(join(volume?.hostPath ?? '', 'f'), 'utf8')).toBe('x');
  await manager.unmountPod('uid-1');
  expect(await t.mounts()).toEqual([]);
});

test.each<[string, OwnerReference | undefined]>([
  ['nobody', undefined],
  ['another pod', { ...OWNER, uid: 'uid-2' }],
  ['the pod, but not as its controller', { ...OWNER, controller: false }],
])('a claim that belongs to %s blocks the pod', async (_, owner) => {
  await using t = await createClaim(owner);
  await expect(createVolumeManager(t.host).mountPod(pod, never)).rejects.toThrow(
    'volume "data": PersistentVolumeClaim default/web-data was not created for pod default/web (pod is not owner)',
  );
  expect(await t.mounts()).toEqual([]);
});
