/** Reclaiming of volumes whose claims are gone: deletion of host paths, and recycling. */
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Body, type Json, STRATEGIC, usePlane } from './support.ts';

const plane = usePlane('plat', [
  '--controllers=persistentvolume-binder,persistentvolume-expander,namespace',
  '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,StorageObjectInUseProtection',
  '--no-scheduler',
]);
const VOLUMES = '/api/v1/persistentvolumes';
const PODS = '/api/v1/namespaces/default/pods';

const until = (path: string, isWanted: (body: Body) => boolean, what: string): Promise<Body> =>
  eventually(
    async () => {
      const { status, body } = await plane.get(path);
      return status === 200 && isWanted(body) ? body : undefined;
    },
    { what, timeoutMs: 30_000 },
  );

const inPhase =
  (phase: string) =>
  ({ status }: Body): boolean =>
    status['phase'] === phase;

const COMMON = { accessModes: ['ReadWriteOnce'], storageClassName: '' };

/** Creates a volume, and a claim that is bound to it and deleted. */
async function release(name: string, spec: Json): Promise<void> {
  const ns = await plane.namespace();
  const claim = `${ns}/persistentvolumeclaims/${name}`;
  await plane.post(VOLUMES, {
    metadata: { name },
    spec: { ...COMMON, capacity: { storage: '1Gi' }, ...spec },
  });
  await plane.post(`${ns}/persistentvolumeclaims`, {
    metadata: { name },
    spec: { ...COMMON, volumeName: name, resources: { requests: { storage: '1Gi' } } },
  });
  await until(claim, inPhase('Bound'), 'bound');
  await plane.delete(claim);
}

test('a host path beneath /tmp is deleted with its volume', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, 'data');
  await mkdir(join(path, 'sub'), { recursive: true });
  await writeFile(join(path, 'sub/f'), '');
  await release('deleted', { hostPath: { path }, persistentVolumeReclaimPolicy: 'Delete' });
  await expect
    .poll(async () => (await plane.get(`${VOLUMES}/deleted`)).status, { timeout: 30_000 })
    .toBe(404);
  expect(await readdir(dir.path)).toEqual([]);
});

test('a host path elsewhere is not deleted, and an event says so', async () => {
  const spec = { hostPath: { path: '/srv/none' }, persistentVolumeReclaimPolicy: 'Delete' };
  await release('elsewhere', spec);
  const { status } = await until(`${VOLUMES}/elsewhere`, inPhase('Failed'), 'failed');
  expect(status['message']).toBe('host_path deleter only supports /tmp/.+ but received provided /srv/none');
});

/** Sets the result of the recycler of a volume, as its node would. */
async function endRecycler(volume: string, phase: string): Promise<Body> {
  const path = `${PODS}/recycler-for-${volume}`;
  const pod = await until(path, () => true, 'the recycler');
  await plane.patch(`${path}/status`, { status: { phase } }, STRATEGIC);
  return pod;
}

test('a recycled volume is emptied by a pod, and available again', async () => {
  await release('again', {
    nfs: { server: 'files.example.org', path: '/a' },
    persistentVolumeReclaimPolicy: 'Recycle',
  });
  const { spec } = await endRecycler('again', 'Succeeded');
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    activeDeadlineSeconds: 300,
    volumes: [{ name: 'vol', nfs: { server: 'files.example.org', path: '/a' } }],
  });
  await until(`${VOLUMES}/again`, inPhase('Available'), 'available');
  await expect
    .poll(async () => (await plane.get(`${PODS}/recycler-for-again`)).status, { timeout: 30_000 })
    .toBe(404);
});

test('a recycler that fails leaves the volume failed', async () => {
  await release('stuck', {
    hostPath: { path: '/srv/x' },
    persistentVolumeReclaimPolicy: 'Recycle',
  });
  await endRecycler('stuck', 'Failed');
  const { status } = await until(`${VOLUMES}/stuck`, inPhase('Failed'), 'failed');
  expect(status['message']).toBe('Recycle failed: pod failed, pod.Status.Message unknown.');
});
