/** Attachment of volumes to the nodes of their pods. The test simulates the nodes and the attacher. */
import { beforeAll, describe, expect, test } from 'vitest';
import { attachmentName, csiVolumeName } from '#api/meta/volume-names.ts';
import { eventually } from '../../testing/wait.ts';
import { type Body, type Json, pod, STRATEGIC, usePlane, WAIT } from './support.ts';

const plane = usePlane('plat', [
  '--controllers=attachdetach,persistentvolume-binder,pvc-protection,pv-protection,podgc,garbagecollector,namespace',
  '--feature-gates=NodeOutOfServiceVolumeDetach=true',
  '--disable-admission-plugins=ServiceAccount,TaintNodesByCondition',
  '--no-scheduler',
]);
const { domain } = plane.words;
const ATTACHMENTS = plane.path('storage/v1', 'volumeattachments');
const DRIVER = 'blocks.example.com';
const FINALIZER = 'example.com/attacher';

interface AttachmentBody {
  readonly path: string;
  readonly body: Body;
}

const unique = (handle: string): string => csiVolumeName(domain, DRIVER, handle);
const pathOf = (handle: string, node: string): string =>
  `${ATTACHMENTS}/${attachmentName(DRIVER, handle, node)}`;

async function addNode(name: string, managed = true): Promise<void> {
  const annotations = { [`volumes.${domain}/controller-managed-attach-detach`]: 'true' };
  await plane.post('/api/v1/nodes', { metadata: { name, ...(managed ? { annotations } : {}) } });
}

/** A claim that is bound to a volume of the driver, both of this name. */
async function addVolume(
  ns: string,
  name: string,
  accessMode = 'ReadWriteOnce',
  source?: Json,
): Promise<void> {
  const common = { accessModes: [accessMode], storageClassName: 'by-hand' };
  await plane.post('/api/v1/persistentvolumes', {
    metadata: { name },
    spec: {
      ...common,
      capacity: { storage: '1Gi' },
      claimRef: { namespace: ns.split('/').at(-1), name },
      ...(source ?? { csi: { driver: DRIVER, volumeHandle: name } }),
    },
  });
  await plane.post(`${ns}/persistentvolumeclaims`, {
    metadata: { name },
    spec: { ...common, resources: { requests: { storage: '1Gi' } } },
  });
}

const user = (name: string, claimName: string, nodeName: string): Json =>
  pod(name, {
    nodeName,
    terminationGracePeriodSeconds: 0,
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
  });

/** Until the attachment is there. */
async function requested(handle: string, node: string): Promise<AttachmentBody> {
  const path = pathOf(handle, node);
  const body = await eventually(async () => {
    const reply = await plane.get(path);
    return reply.status === 200 ? reply.body : undefined;
  });
  return { path, body };
}

/** As an attacher says that it has attached it; from then on the attachment goes when it says so. */
async function attach({ path }: AttachmentBody): Promise<void> {
  await plane.patch(path, { metadata: { finalizers: [FINALIZER] } });
  await plane.patch(`${path}/status`, { status: { attached: true } });
}

const reportedVolumes = async (node: string): Promise<unknown> =>
  (await plane.get(`/api/v1/nodes/${node}`)).body.status['volumesAttached'];

const untilReported = (node: string, expected: unknown): Promise<void> =>
  expect.poll(() => reportedVolumes(node), WAIT).toEqual(expected);

const attachedEntry = (handle: string): Json => ({ name: unique(handle), devicePath: '' });

const use = (node: string, handles: readonly string[]): Promise<unknown> =>
  plane.patch(`/api/v1/nodes/${node}/status`, { status: { volumesInUse: handles.map(unique) } }, STRATEGIC);

const untilEvent = (ns: string, name: string, text: string): Promise<Body> =>
  eventually(
    async () => {
      const { body } = await plane.get(`${ns}/events?fieldSelector=involvedObject.name=${name}`);
      return body.items.find(({ message }) => message.includes(text));
    },
    { what: `event of ${name}: ${text}` },
  );

const untilGone = (path: string): Promise<void> =>
  expect.poll(async () => (await plane.get(path)).status, WAIT).toBe(404);

beforeAll(async () => {
  for (const name of ['a', 'b', 'c']) await addNode(name);
  await addNode('alone', false);
});

describe('attachdetach', () => {
  test('a volume is attached, reported, detached when it is no longer in use, and deleted with its finalizers', async () => {
    const ns = await plane.namespace();
    await addVolume(ns, 'v1');
    await plane.post(`${ns}/pods`, user('p', 'v1', 'a'));
    const attachment = await requested('v1', 'a');
    expect(attachment.body.spec).toEqual({
      attacher: DRIVER,
      nodeName: 'a',
      source: { persistentVolumeName: 'v1' },
    });
    expect(await reportedVolumes('a')).toBeUndefined();

    await attach(attachment);
    await untilReported('a', [attachedEntry('v1')]);
    expect(await untilEvent(ns, 'p', 'AttachVolume.Attach succeeded for volume "v1"')).toMatchObject({
      reason: 'SuccessfulAttachVolume',
      source: { component: 'attachdetach-controller' },
    });

    await use('a', ['v1']);
    await plane.delete(`${ns}/pods/p`);
    await untilGone(`${ns}/pods/p`);
    // The node still has it mounted, and whatever else happens there changes nothing.
    await plane.post(`${ns}/pods`, user('other', 'v1', 'b'));
    await untilEvent(
      ns,
      'other',
      'Multi-Attach error for volume "v1" Volume is already exclusively attached',
    );
    expect((await plane.get(attachment.path)).body.metadata.deletionTimestamp).toBeUndefined();
    expect(await reportedVolumes('a')).toEqual([attachedEntry('v1')]);

    await use('a', []);
    await untilReported('a', undefined);
    await expect
      .poll(async () => (await plane.get(attachment.path)).body.metadata.deletionTimestamp, WAIT)
      .toBeDefined();
    expect((await plane.get(pathOf('v1', 'b'))).status).toBe(404);
    await plane.patch(attachment.path, { metadata: { finalizers: null } });
    await untilGone(attachment.path);
    await attach(await requested('v1', 'b'));
    await untilReported('b', [attachedEntry('v1')]);
  });

  test('a volume for one node waits for it, and reports the node that has it; one for many does not', async () => {
    const ns = await plane.namespace();
    await addVolume(ns, 'once');
    await addVolume(ns, 'many', 'ReadWriteMany');
    for (const [name, node] of [
      ['first', 'a'],
      ['second', 'b'],
    ] as const) {
      await plane.post(`${ns}/pods`, user(`${name}-many`, 'many', node));
      await requested('many', node);
      await plane.post(`${ns}/pods`, user(name, 'once', node));
      if (node === 'a') await requested('once', node);
    }
    await untilEvent(ns, 'second', 'Volume is already used by pod(s) first');
    expect((await plane.get(pathOf('once', 'b'))).status).toBe(404);
  });

  test('an error of the attacher is reported as an event of the pod', async () => {
    const ns = await plane.namespace();
    await addVolume(ns, 'broken');
    await plane.post(`${ns}/pods`, user('p', 'broken', 'a'));
    const attachment = await requested('broken', 'a');
    const attachError = { time: new Date().toISOString(), message: 'no such disk' };
    await plane.patch(`${attachment.path}/status`, { status: { attached: false, attachError } });
    const event = await untilEvent(ns, 'p', 'AttachVolume.Attach failed for volume "broken" : no such disk');
    expect([event.reason, (event as unknown as { type: string }).type]).toEqual([
      'FailedAttachVolume',
      'Warning',
    ]);
  });

  test('drivers without an attacher, nodes that attach by themselves, and pods that have ended are left alone', async () => {
    const ns = await plane.namespace();
    const drivers = plane.path('storage/v1', 'csidrivers');
    await plane.post(drivers, { metadata: { name: 'plain.example.com' }, spec: { attachRequired: false } });
    const csi = { driver: 'plain.example.com', volumeHandle: 'plain' };
    await addVolume(ns, 'plain', 'ReadWriteMany', { csi });
    await addVolume(ns, 'self', 'ReadWriteMany');
    await addVolume(ns, 'ended');
    await plane.post(`${ns}/pods`, user('plain', 'plain', 'c'));
    await plane.post(`${ns}/pods`, user('self', 'self', 'alone'));
    await plane.post(`${ns}/pods`, user('done', 'ended', 'c'));
    const ended = await requested('ended', 'c');
    await attach(ended);
    await untilReported('c', [attachedEntry('ended')]);
    await plane.patch(`${ns}/pods/done/status`, { status: { phase: 'Succeeded' } }, STRATEGIC);
    await expect
      .poll(async () => (await plane.get(ended.path)).body.metadata.deletionTimestamp, WAIT)
      .toBeDefined();
    await untilReported('c', undefined);
    // A pod on a managed node shows that all that was there before was looked at.
    await plane.post(`${ns}/pods`, user('self-too', 'self', 'c'));
    await requested('self', 'c');
    expect((await plane.get(pathOf('self', 'alone'))).status).toBe(404);
    expect(
      (await plane.get(`${ATTACHMENTS}/${attachmentName(csi.driver, csi.volumeHandle, 'c')}`)).status,
    ).toBe(404);
  });

  test('a volume that nodes attach by themselves is only reported', async () => {
    const ns = await plane.namespace();
    const iscsi = { targetPortal: '10.0.0.1:3260', iqn: 'iqn.2026-01.example:disk', lun: 1 };
    await addVolume(ns, 'disk', 'ReadWriteOnce', { iscsi });
    await plane.post(`${ns}/pods`, user('p', 'disk', 'c'));
    const name = `${domain}/iscsi/10.0.0.1:3260:iqn.2026-01.example:disk:1`;
    await expect
      .poll(async () => (await reportedVolumes('c')) ?? [], WAIT)
      .toContainEqual({ name, devicePath: '' });
    await plane.post(`${ns}/pods`, user('q', 'disk', 'b'));
    await untilEvent(ns, 'q', 'Volume is already used by pod(s) p');
    await plane.delete(`${ns}/pods/p`);
    await expect
      .poll(async () => (await reportedVolumes('b')) ?? [], WAIT)
      .toContainEqual({ name, devicePath: '' });
    expect((await reportedVolumes('c')) ?? []).not.toContainEqual({ name, devicePath: '' });
  });

  test('volumes of clouds are CSI volumes where the node reports migration', async () => {
    const ns = await plane.namespace();
    const driver = 'ebs.csi.aws.com';
    const csiNodes = plane.path('storage/v1', 'csinodes');
    const annotations = {
      [`storage.alpha.${domain}/migrated-plugins`]: `${domain}/aws-ebs,${domain}/cinder`,
    };
    await addVolume(ns, 'cloud', 'ReadWriteMany', { awsElasticBlockStore: { volumeID: 'aws://z/vol-1' } });
    await plane.post(csiNodes, { metadata: { name: 'b', annotations }, spec: { drivers: [] } });
    await plane.post(csiNodes, { metadata: { name: 'c' }, spec: { drivers: [] } });
    await plane.post(`${ns}/pods`, user('plain', 'cloud', 'c'));
    await plane.post(`${ns}/pods`, user('p', 'cloud', 'b'));
    const disk = { volumeID: 'vol-2', fsType: 'ext4' };
    await plane.post(
      `${ns}/pods`,
      pod('inline', {
        nodeName: 'b',
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: 'd', awsElasticBlockStore: disk }],
      }),
    );
    const found = async (handle: string, node: string): Promise<Body> =>
      (await plane.get(`${ATTACHMENTS}/${attachmentName(driver, handle, node)}`)).body;
    await expect
      .poll(async () => (await found('vol-1', 'b')).spec, WAIT)
      .toMatchObject({
        attacher: driver,
        source: { persistentVolumeName: 'cloud' },
      });
    await expect
      .poll(async () => (await found('vol-2', 'b')).spec, WAIT)
      .toMatchObject({
        attacher: driver,
        source: {
          inlineVolumeSpec: {
            accessModes: ['ReadWriteOnce'],
            csi: { driver, volumeHandle: 'vol-2', fsType: 'ext4' },
          },
        },
      });
    expect((await found('vol-1', 'c')).kind).toBe('Status');
    await plane.patch(`${csiNodes}/c`, { metadata: { annotations } });
    await expect.poll(async () => (await found('vol-1', 'c')).kind, WAIT).toBe('VolumeAttachment');
    await plane.delete(`${ns}/pods/inline`);
    await expect.poll(async () => (await found('vol-2', 'b')).kind, WAIT).toBe('Status');
  });

  test('what is on a node that is out of service moves: its pods that are deleted go, and their volumes', async () => {
    const ns = await plane.namespace();
    await addNode('off');
    await addVolume(ns, 'moves');
    await plane.post(`${ns}/pods`, {
      ...user('p', 'moves', 'off'),
      spec: { ...(user('p', 'moves', 'off')['spec'] as Json), terminationGracePeriodSeconds: 3600 },
    });
    const attachment = await requested('moves', 'off');
    await attach(attachment);
    await untilReported('off', [attachedEntry('moves')]);
    await use('off', ['moves']);
    await plane.delete(`${ns}/pods/p`);
    await plane.post(`${ns}/pods`, user('next', 'moves', 'b'));
    await untilEvent(ns, 'next', 'Volume is already exclusively attached');
    expect((await plane.get(`${ns}/pods/p`)).status).toBe(200);

    const taint = { key: `node.${domain}/out-of-service`, value: 'nodeshutdown', effect: 'NoExecute' };
    await plane.patch('/api/v1/nodes/off', { spec: { taints: [taint] } });
    await untilGone(`${ns}/pods/p`);
    await expect
      .poll(async () => (await plane.get(attachment.path)).body.metadata.deletionTimestamp, WAIT)
      .toBeDefined();
    await plane.patch(attachment.path, { metadata: { finalizers: null } });
    await requested('moves', 'b');
  });

  test('what a server did not get to is done by the next', async () => {
    const ns = await plane.namespace();
    await addVolume(ns, 'kept');
    await plane.post(`${ns}/pods`, user('p', 'kept', 'a'));
    const kept = await requested('kept', 'a');
    await attach(kept);
    await expect
      .poll(async () => (await reportedVolumes('a')) ?? [], WAIT)
      .toContainEqual(attachedEntry('kept'));
    await plane.server.restart();
    await plane.delete(`${ns}/pods/p`);
    await expect
      .poll(async () => (await plane.get(kept.path)).body.metadata.deletionTimestamp, WAIT)
      .toBeDefined();
    expect((await reportedVolumes('a')) ?? []).not.toContainEqual(attachedEntry('kept'));
  });
});
