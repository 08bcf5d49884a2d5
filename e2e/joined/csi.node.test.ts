/** Volumes of a real CSI driver on a joined node, attached by an external attacher. */
import { Buffer } from 'node:buffer';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CSIPersistentVolumeSource, Event, Node, PersistentVolumeClaim } from '#api/gen/core-v1.ts';
import type { CSIDriverSpec, CSINode, CSINodeDriver, VolumeAttachment } from '#api/gen/storage-v1.ts';
import { attachmentName } from '#api/meta/volume-names.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  conditionFile,
  type RecordedCall,
  type TestDriverOptions,
} from '#volumes/csi/driver-options.fixture.ts';
import { startTestDriver, type TestDriver } from '#volumes/csi/start-driver.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { sh, WAIT } from '../lifecycle/support.ts';
import { type Joined, MERGE, NODE, STRATEGIC, startJoined } from './support.ts';

const { apiGroupDomain, domain } = VOCABULARIES.plat;
const STORAGE = `storage.${apiGroupDomain}/v1`;
const ATTACHMENTS = `/apis/${STORAGE}/volumeattachments`;
const DRIVER = 'disks.csi.example.org';
const ATTACHMENT = `${ATTACHMENTS}/${attachmentName(DRIVER, 'handle', NODE)}`;

async function make({ plane }: Joined, path: string, object: object): Promise<void> {
  const { status, text } = await plane.post(path, object);
  if (status !== 201) throw new Error(`${path}: ${text}`);
}

async function makeDriver(joined: Joined, spec: CSIDriverSpec): Promise<void> {
  const object = { apiVersion: STORAGE, kind: 'CSIDriver', metadata: { name: DRIVER }, spec };
  await make(joined, `/apis/${STORAGE}/csidrivers`, object);
}

/** A claim that is bound to a volume of the driver. */
async function makeClaim(
  joined: Joined,
  { storage = '1Gi', storageClassName = '', csi = {} }: ClaimOptions = {},
): Promise<void> {
  const common = { accessModes: ['ReadWriteOnce'], storageClassName };
  await make(joined, '/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'disk' },
    spec: {
      ...common,
      capacity: { storage },
      csi: { driver: DRIVER, volumeHandle: 'handle', ...csi },
      claimRef: { namespace: 'default', name: 'disk' },
    },
  });
  await make(joined, '/api/v1/namespaces/default/persistentvolumeclaims', {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'disk' },
    spec: { ...common, volumeName: 'disk', resources: { requests: { storage } } },
  });
}

interface ClaimOptions {
  readonly storage?: string;
  readonly storageClassName?: string;
  readonly csi?: Partial<CSIPersistentVolumeSource>;
}

/** Nodes may do by default only what they need when the server's controller attaches. */
async function allowAttaching(joined: Joined): Promise<void> {
  const apiGroup = `rbac.authorization.${apiGroupDomain}`;
  const about = (kind: string): object => ({
    apiVersion: `${apiGroup}/v1`,
    kind,
    metadata: { name: 'attaching' },
  });
  const resources = ['volumeattachments'];
  const verbs = ['get', 'list', 'watch', 'create', 'delete'];
  await make(joined, `/apis/${apiGroup}/v1/clusterroles`, {
    ...about('ClusterRole'),
    rules: [{ apiGroups: [`storage.${apiGroupDomain}`], resources, verbs }],
  });
  await make(joined, `/apis/${apiGroup}/v1/clusterrolebindings`, {
    ...about('ClusterRoleBinding'),
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'attaching' },
    subjects: [{ apiGroup, kind: 'Group', name: 'system:nodes' }],
  });
}

/** A pod with the claim, or with another volume. */
const userOf = (volume: object = { persistentVolumeClaim: { claimName: 'disk' } }): object => ({
  volumes: [{ name: 'disk', ...volume }],
  containers: [
    sh('c', `echo written > /disk/x; ${WAIT}`, { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] }),
  ],
});

interface World extends AsyncDisposable {
  readonly joined: Joined;
  readonly driver: TestDriver;
}

/** A joined node on which the driver has registered, as the server knows. */
async function startWorld(
  options: Partial<TestDriverOptions> = {},
  flags: readonly string[] = [],
): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await createTempDir('na-csi-'));
  let driver: TestDriver | undefined;
  // Stopped last: the agent unmounts the volumes of failed tests' pods.
  stack.defer(() => driver?.[Symbol.asyncDispose]());
  const joined = stack.use(await startJoined(flags));
  driver = await startTestDriver({
    name: DRIVER,
    registryDir: join(joined.agent.root, 'plugins_registry'),
    dataDir: folder.path,
    ...options,
  });
  await toldOf(joined);
  const owned = stack.move();
  return { joined, driver, [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose]() };
}

/** Waits for the driver's entry in the node's CSINode. */
const toldOf = ({ plane }: Joined): Promise<CSINodeDriver> =>
  eventually(async () => {
    const { spec } = (await plane.get(`/apis/${STORAGE}/csinodes/${NODE}`)).json as CSINode;
    return spec.drivers.find(({ name }) => name === DRIVER);
  });

const requestOf = async (driver: TestDriver, method: string): Promise<RecordedCall['request']> =>
  (await driver.calls()).findLast((call) => call.method === method)?.request ?? {};

/** The newest event of that reason. */
async function eventOf({ plane }: Joined, reason: string): Promise<Event | undefined> {
  const path = `/api/v1/namespaces/default/events?fieldSelector=reason=${reason}`;
  return ((await plane.get(path)).json as { items: Event[] }).items.at(-1);
}

const CLAIM = '/api/v1/namespaces/default/persistentvolumeclaims/disk';
const ROUND = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];

test('a volume is attached from outside, mounted by its driver, and given back', async () => {
  await using world = await startWorld({
    nodeID: 'machine-7',
    topology: { 'example.org/rack': 'r1' },
    maxVolumes: 3,
  });
  const { joined, driver } = world;
  const { plane } = joined;
  expect(await toldOf(joined)).toEqual({
    name: DRIVER,
    nodeID: 'machine-7',
    topologyKeys: ['example.org/rack'],
    allocatable: { count: 3 },
  });
  const { metadata } = (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  expect(metadata?.labels?.['example.org/rack']).toBe('r1');

  await makeDriver(joined, { attachRequired: true, podInfoOnMount: true });
  await makeClaim(joined);
  await joined.run('p', userOf());
  await eventually(async () => (await plane.get(ATTACHMENT)).status === 200, { timeoutMs: 20_000 });
  expect(await driver.methods()).toEqual([]);
  const status = { attached: true, attachmentMetadata: { slot: '9' } };
  await joined.patch(`${ATTACHMENT}/status`, { status }, MERGE);
  await joined.shows('p', (pod) => pod.status?.phase === 'Running');
  expect(await requestOf(driver, 'NodeStageVolume')).toMatchObject({
    volumeId: 'handle',
    publishContext: { slot: '9' },
  });

  await joined.agent.stop('SIGKILL');
  await driver.restart();
  await joined.agent.start();
  await joined.remove('p');
  await joined.isGone('p');
  // Without a grace period the server deletes the pod at once, and the node tears down its volumes
  // afterwards.
  await eventually(async () => (await driver.methods()).length === 4, { timeoutMs: 20_000 });
  expect(await driver.methods()).toEqual(ROUND);
  await eventually(async () => (await plane.get(ATTACHMENT)).status === 404, { timeoutMs: 20_000 });
});

test('a volume grows while a pod uses it, and its claim reports it', async () => {
  const capabilities = ['STAGE_UNSTAGE_VOLUME', 'EXPAND_VOLUME'];
  await using world = await startWorld({ capabilities }, ['--sync-frequency=1s']);
  const { joined, driver } = world;
  const { plane } = joined;
  await make(joined, `/apis/${STORAGE}/storageclasses`, {
    apiVersion: STORAGE,
    kind: 'StorageClass',
    metadata: { name: 'growing' },
    provisioner: DRIVER,
    allowVolumeExpansion: true,
  });
  await makeDriver(joined, { attachRequired: false });
  await makeClaim(joined, {
    storage: '128Mi',
    storageClassName: 'growing',
    csi: { volumeHandle: 'loop-g', fsType: 'btrfs' },
  });
  const look = 'while sleep 0.1; do df -m /disk | tail -n 1 > /disk/df; done';
  const mounts = { volumeMounts: [{ name: 'disk', mountPath: '/disk' }] };
  const pod = await joined.run('p', {
    ...userOf(),
    containers: [sh('c', `trap exit TERM; ${look}`, mounts)],
  });
  await joined.shows('p', ({ status }) => status?.phase === 'Running');
  expect((await driver.methods()).includes('NodeExpandVolume')).toBe(false);
  /** In MiB, as the container sees it. */
  const room = async (): Promise<number> => {
    const volume = join(
      joined.agent.root,
      'pods',
      pod.metadata?.uid ?? '',
      'volumes',
      `${domain}~csi/disk/mount`,
    );
    return Number((await readFile(join(volume, 'df'), 'utf8')).trim().split(/\s+/)[1]);
  };
  await eventually(async () => (await room()) === 128, { what: 'the pod sees a small disk' });

  const claim = async (): Promise<PersistentVolumeClaim> =>
    (await plane.get(CLAIM)).json as PersistentVolumeClaim;
  await driver.misbehave({ method: 'NodeExpandVolume', deed: 'fail', message: 'not in this weather' });
  // As the driver's controller does when the disk has grown: the file system is left to the node, which begins with
  // the last of these.
  await joined.patch(CLAIM, { spec: { resources: { requests: { storage: '256Mi' } } } });
  const conditions = [{ type: 'FileSystemResizePending', status: 'True' }];
  await joined.patch(`${CLAIM}/status`, { status: { conditions } }, STRATEGIC);
  await joined.patch('/api/v1/persistentvolumes/disk', { spec: { capacity: { storage: '256Mi' } } });
  await eventually(async () => (await claim()).status?.capacity?.['storage'] === '256Mi', {
    timeoutMs: 20_000,
    what: 'the claim has grown',
  });
  expect((await claim()).status?.conditions ?? []).toEqual([]);
  await eventually(async () => (await room()) === 256, { what: 'the pod sees the room' });
  const expanded = await requestOf(driver, 'NodeExpandVolume');
  expect(expanded).toMatchObject({
    volumeId: 'loop-g',
    capacityRange: { requiredBytes: String(256 * 2 ** 20) },
    volumeCapability: { mount: { fsType: 'btrfs' } },
  });
  expect(expanded['volumePath']).toMatch(/~csi\/disk\/mount$/);
  expect(expanded['stagingTargetPath']).toMatch(/globalmount$/);
  const failed = await eventually(() => eventOf(joined, 'VolumeResizeFailed'));
  expect(failed.message).toContain('not in this weather');
  await eventually(() => eventOf(joined, 'FileSystemResizeSuccessful'));
});

test('an inline volume gets its pod’s information, tokens and group, and reports its health', async () => {
  await using world = await startWorld({ capabilities: ['GET_VOLUME_STATS', 'VOLUME_CONDITION'] }, [
    '--feature-gates=CSIVolumeHealth=true',
    '--volume-stats-agg-period=1s',
  ]);
  const { joined, driver } = world;
  await makeDriver(joined, {
    attachRequired: false,
    podInfoOnMount: true,
    fsGroupPolicy: 'File',
    volumeLifecycleModes: ['Ephemeral'],
    tokenRequests: [{ audience: 'vault', expirationSeconds: 600 }],
  });
  await make(joined, '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'robot' },
  });
  const pod = await joined.run('own', {
    ...userOf({ csi: { driver: DRIVER, volumeAttributes: { kind: 'cache' } } }),
    serviceAccountName: 'robot',
    securityContext: { fsGroup: 4321 },
  });
  await joined.shows('own', ({ status }) => status?.phase === 'Running');
  const published = await requestOf(driver, 'NodePublishVolume');
  const { volumeContext } = published as { volumeContext: Record<string, string> };
  const key = (name: string): string => `csi.storage.${apiGroupDomain}/${name}`;
  expect(volumeContext).toMatchObject({
    kind: 'cache',
    [key('pod.name')]: 'own',
    [key('pod.namespace')]: 'default',
    [key('pod.uid')]: pod.metadata?.uid,
    [key('serviceAccount.name')]: 'robot',
    [key('ephemeral')]: 'true',
  });
  const tokens = JSON.parse(volumeContext[key('serviceAccount.tokens')] ?? '{}') as {
    vault: { token: string; expirationTimestamp: string };
  };
  const payload = Buffer.from(tokens.vault.token.split('.')[1] ?? '', 'base64url').toString();
  const claims = JSON.parse(payload) as { sub: string; aud: string[]; exp: number };
  expect([claims.sub, claims.aud]).toEqual(['system:serviceaccount:default:robot', ['vault']]);
  expect(tokens.vault.expirationTimestamp).toBe(
    new Date(claims.exp * 1000).toISOString().replace('.000', ''),
  );
  expect((await stat(String(published['targetPath']))).gid).toBe(4321);
  const trouble = conditionFile(driver.options.dataDir);
  await writeFile(`${trouble}.new`, 'the disk is on fire');
  await rename(`${trouble}.new`, trouble);
  const abnormal = await eventually(() => eventOf(joined, 'VolumeConditionAbnormal'));
  expect(abnormal).toMatchObject({
    type: 'Warning',
    message: 'Volume disk: the disk is on fire',
    involvedObject: { kind: 'Pod', name: 'own' },
  });
  await joined.remove('own');
  await eventually(async () => (await driver.methods()).join() === 'NodePublishVolume,NodeUnpublishVolume', {
    timeoutMs: 20_000,
  });
});

test('an agent that attaches by itself creates the attachment, reports its failures, and deletes it', async () => {
  await using world = await startWorld({}, ['--enable-controller-attach-detach=false']);
  const { joined, driver } = world;
  const { plane } = joined;
  const { metadata } = (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  expect(Object.keys(metadata?.annotations ?? {})).not.toContain(
    `volumes.${domain}/controller-managed-attach-detach`,
  );
  await makeDriver(joined, { attachRequired: true });
  await makeClaim(joined);
  await joined.run('p', userOf());
  const isForbidden = async (): Promise<boolean> =>
    (await eventOf(joined, 'FailedAttachVolume'))?.message?.includes('has to be allowed') === true;
  await eventually(isForbidden, { what: 'the agent says what it is not allowed to do' });
  await allowAttaching(joined);

  const attachment = await eventually(
    async () => {
      const response = await plane.get(ATTACHMENT);
      return response.status === 200 ? (response.json as VolumeAttachment) : undefined;
    },
    { timeoutMs: 20_000, what: 'the attachment' },
  );
  expect(attachment.metadata?.managedFields?.map(({ manager }) => manager)).not.toContain(
    'attachdetach-controller',
  );
  const finalizers = ['attacher.example.org/done'];
  await joined.patch(ATTACHMENT, { metadata: { finalizers } });
  const error = { message: 'the machine has no slot left', time: '2026-01-01T00:00:00Z' };
  await joined.patch(`${ATTACHMENT}/status`, { status: { attached: false, attachError: error } });
  await eventually(
    async () => (await eventOf(joined, 'FailedAttachVolume'))?.message?.includes(error.message) === true,
    { timeoutMs: 20_000, what: 'the pod gets an event with the error of the attacher' },
  );
  expect(await driver.methods()).toEqual([]);
  await joined.patch(`${ATTACHMENT}/status`, {
    status: { attached: true, attachError: null, attachmentMetadata: { slot: '4' } },
  });
  await joined.shows('p', (pod) => pod.status?.phase === 'Running');
  expect(await requestOf(driver, 'NodeStageVolume')).toMatchObject({ publishContext: { slot: '4' } });
  const attached = await eventually(() => eventOf(joined, 'SuccessfulAttachVolume'));
  expect(attached).toMatchObject({
    type: 'Normal',
    message: 'AttachVolume.Attach succeeded for volume "disk"',
    involvedObject: { kind: 'Pod', name: 'p' },
    count: 1,
  });
  const { status } = (await plane.get(`/api/v1/nodes/${NODE}`)).json as Node;
  expect(status?.volumesAttached ?? []).toEqual([]);

  await joined.agent.stop('SIGKILL');
  await joined.agent.start();
  await joined.remove('p');
  await eventually(
    async () =>
      ((await plane.get(ATTACHMENT)).json as VolumeAttachment).metadata?.deletionTimestamp !== undefined,
    { timeoutMs: 20_000, what: 'the attachment is given back' },
  );
  expect(await driver.methods()).toEqual(ROUND);
  const detachError = { message: 'the disk is still busy', time: '2026-01-01T00:00:00Z' };
  await joined.patch(`${ATTACHMENT}/status`, { status: { detachError } });
  const reported = await eventually(() => eventOf(joined, 'FailedDetachVolume'), { timeoutMs: 20_000 });
  expect(reported.involvedObject).toMatchObject({ kind: 'Node', name: NODE });
  expect(reported.message).toContain('the disk is still busy');
  await joined.patch(ATTACHMENT, { metadata: { finalizers: null } });
  await eventually(async () => (await joined.agent.pods()).length === 0, { timeoutMs: 20_000 });
});
