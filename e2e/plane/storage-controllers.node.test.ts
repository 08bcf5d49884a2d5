/** Controllers of generic ephemeral volumes and volume expansion. */
import { beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { type Body, type Json, pod, STRATEGIC, usePlane } from './support.ts';

const plane = usePlane('plat', [
  '--controllers=ephemeral-volume,persistentvolume-expander,persistentvolume-binder,garbagecollector,namespace,pvc-protection',
  '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
  '--no-scheduler',
]);
const { domain } = plane.words;

const until = (path: string, isWanted: (body: Body) => boolean, what: string): Promise<Body> =>
  eventually(
    async () => {
      const { status, body } = await plane.get(path);
      return status === 200 && isWanted(body) ? body : undefined;
    },
    { what },
  );

const untilGone = (path: string): Promise<void> =>
  expect.poll(async () => (await plane.get(path)).status, { timeout: 10_000 }).toBe(404);

const untilEvent = (ns: string, name: string, reason: string): Promise<Body> =>
  eventually(
    async () => {
      const { body } = await plane.get(`${ns}/events?fieldSelector=involvedObject.name=${name}`);
      return body.items.find((event) => event.reason === reason);
    },
    { what: `${reason} of ${name}` },
  );

const request = (storage: string): Json => ({
  accessModes: ['ReadWriteOnce'],
  storageClassName: 'grows',
  resources: { requests: { storage } },
});

describe('ephemeral-volume', () => {
  const withScratch = (name: string): Json =>
    pod(name, {
      volumes: [
        {
          name: 'scratch',
          ephemeral: {
            volumeClaimTemplate: {
              metadata: { labels: { for: name }, annotations: { note: 'x' } },
              spec: request('1Gi'),
            },
          },
        },
      ],
    });

  test('a claim is created for the pod, created again if it is deleted, and deleted with the pod', async () => {
    const ns = await plane.namespace();
    const { body } = await plane.post(`${ns}/pods`, withScratch('p'));
    const path = `${ns}/persistentvolumeclaims/p-scratch`;
    const claim = await until(path, () => true, 'the claim');
    expect(claim.metadata).toMatchObject({ labels: { for: 'p' }, annotations: { note: 'x' } });
    expect(claim.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Pod',
        name: 'p',
        uid: body.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(claim.spec).toMatchObject({ ...request('1Gi'), volumeMode: 'Filesystem' });

    await plane.delete(path);
    await until(path, ({ metadata }) => metadata.uid !== claim.metadata.uid, 'another one');
    await plane.delete(`${ns}/pods/p`, { gracePeriodSeconds: 0 });
    await untilGone(path);
  });

  test('a claim of another owner is left alone and reported, and the pod’s claim is created once it is gone', async () => {
    const ns = await plane.namespace();
    const path = `${ns}/persistentvolumeclaims/q-scratch`;
    const foreign = await plane.post(`${ns}/persistentvolumeclaims`, {
      metadata: { name: 'q-scratch' },
      spec: request('5Gi'),
    });
    const { body } = await plane.post(`${ns}/pods`, withScratch('q'));
    const namespace = ns.split('/').at(-1) ?? '';
    expect((await untilEvent(ns, 'q', 'FailedBinding')).message).toBe(
      `ephemeral volume scratch: PVC ${namespace}/q-scratch was not created for pod ${namespace}/q (pod is not owner)`,
    );
    expect((await plane.get(path)).body.metadata.uid).toBe(foreign.body.metadata.uid);
    await plane.delete(path);
    const claim = await until(path, ({ metadata }) => metadata.ownerReferences !== undefined, 'its own');
    expect(claim.metadata.ownerReferences?.[0]?.uid).toBe(body.metadata.uid);
  });
});

describe('persistentvolume-expander', () => {
  beforeAll(async () => {
    await plane.post(plane.path('storage/v1', 'storageclasses'), {
      metadata: { name: 'grows' },
      provisioner: 'example.com/none',
      allowVolumeExpansion: true,
    });
  });

  /** A bound claim of this name; its path. */
  async function bound(ns: string, name: string, source: Json): Promise<string> {
    const claimRef = { namespace: ns.split('/').at(-1), name };
    await plane.post('/api/v1/persistentvolumes', {
      metadata: { name },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'grows',
        capacity: { storage: '1Gi' },
        claimRef,
        ...source,
      },
    });
    await plane.post(`${ns}/persistentvolumeclaims`, { metadata: { name }, spec: request('1Gi') });
    const path = `${ns}/persistentvolumeclaims/${name}`;
    await until(path, ({ status }) => status['phase'] === 'Bound', 'bound');
    return path;
  }

  const grow = (path: string, storage: string): Promise<unknown> =>
    plane.patch(path, { spec: { resources: { requests: { storage } } } });

  const conditions = ({ status }: Body): readonly string[] =>
    ((status['conditions'] ?? []) as readonly { readonly type: string }[]).map(({ type }) => type);

  test('a volume of a flex driver is expanded, and its claim requests the expansion of the file system', async () => {
    const ns = await plane.namespace();
    const path = await bound(ns, 'flex', { flexVolume: { driver: 'example/flex' } });
    await grow(path, '3Gi');
    const claim = await until(
      path,
      (body) => conditions(body).includes('FileSystemResizePending'),
      'left to the node',
    );
    expect(conditions(claim)).toEqual(['FileSystemResizePending']);
    expect(claim.metadata.annotations?.[`volume.${domain}/storage-resizer`]).toBe('example/flex');
    expect(claim.status['capacity']).toEqual({ storage: '1Gi' });
    const before = `volume.alpha.${domain}/pre-resize-capacity`;
    const volume = (await plane.get('/api/v1/persistentvolumes/flex')).body;
    expect([volume.spec['capacity'], volume.metadata.annotations?.[before]]).toEqual([
      { storage: '3Gi' },
      '1Gi',
    ]);

    await plane.patch(
      `${path}/status`,
      {
        status: {
          capacity: { storage: '3Gi' },
          conditions: [{ type: 'FileSystemResizePending', $patch: 'delete' }],
        },
      },
      STRATEGIC,
    );
    await until(
      '/api/v1/persistentvolumes/flex',
      ({ metadata }) => metadata.annotations?.[before] === undefined,
      'done',
    );
  });

  test('a volume of a driver of another kind is left to who serves it', async () => {
    const ns = await plane.namespace();
    const path = await bound(ns, 'csi', { csi: { driver: 'd.example.com', volumeHandle: 'h' } });
    await grow(path, '3Gi');
    expect(await untilEvent(ns, 'csi', 'ExternalExpanding')).toMatchObject({
      source: { component: 'volume_expand' },
      message: expect.stringContaining('waiting for an external controller') as string,
    });
    expect((await plane.get('/api/v1/persistentvolumes/csi')).body.spec['capacity']).toEqual({
      storage: '1Gi',
    });
    expect(conditions((await plane.get(path)).body)).toEqual([]);
  });
});
