/** Volumes of real servers, on a kernel that has their file systems: what a pod wrote is there after the agent was
 *  killed and after the power was cut; a server that is gone hurts only the pods that need it. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PersistentVolumeSpec, Pod, Volume } from '#api/schema/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { startVmNode, type VmNode } from './node.ts';
import {
  AZURE,
  CHAP,
  ISCSI_PORTAL,
  ISCSI_TARGET,
  ISCSI_UNITS,
  NFS_EXPORT,
  startStorageServers,
} from './storage-servers.ts';

let node: VmNode;

beforeAll(async () => {
  node = await startVmNode();
  await startStorageServers(node.vm);
}, 900_000);

afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const NFS = { server: '127.0.0.1', path: NFS_EXPORT };
const ISCSI = {
  targetPortal: ISCSI_PORTAL,
  iqn: ISCSI_TARGET,
  chapAuthSession: true,
};

function secret(name: string, stringData: Readonly<Record<string, string>>): object {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData };
}

/** A PersistentVolume and the claim that it is for. */
function claimed(name: string, spec: PersistentVolumeSpec): readonly object[] {
  const common = { capacity: { storage: '64Mi' }, accessModes: ['ReadWriteMany'] };
  return [
    { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec: { ...common, ...spec } },
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name },
      spec: {
        volumeName: name,
        accessModes: common.accessModes,
        resources: { requests: common.capacity },
        ...(spec.volumeMode === undefined ? {} : { volumeMode: spec.volumeMode }),
      },
    },
  ];
}

const claim = (claimName: string): Omit<Volume, 'name'> => ({ persistentVolumeClaim: { claimName } });

/** Says `wrote`, or what is there; goes on using the volume. */
const USE_FILE = `f=/data/$NAME
if [ -e $f ]; then echo "read $(cat $f)"; else echo "word of $NAME" >$f; sync; echo wrote; fi
while :; do cat $f >/dev/null; sleep 2; done`;
const USE_DEVICE = `word=$(dd if=/data bs=13 count=1 2>/dev/null)
if [ "$word" = "word of $NAME" ]; then echo "read $word"
else printf 'word of %s' $NAME | dd of=/data conv=fsync 2>/dev/null; echo wrote; fi
exec sleep 100000`;

function user(name: string, source: Omit<Volume, 'name'>, isBlock = false): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', ...source }],
      containers: [
        {
          name: 'main',
          image: 'local/busybox:1',
          command: ['sh', '-c', isBlock ? USE_DEVICE : USE_FILE],
          env: [{ name: 'NAME', value: name }],
          ...(isBlock
            ? { volumeDevices: [{ name: 'data', devicePath: '/data' }] }
            : { volumeMounts: [{ name: 'data', mountPath: '/data' }] }),
        },
      ],
    },
  };
}

const OBJECTS: readonly object[] = [
  secret('chap', {
    'node.session.auth.username': CHAP.username,
    'node.session.auth.password': CHAP.password,
  }),
  secret('azure', { azurestorageaccountname: AZURE.account, azurestorageaccountkey: AZURE.key }),
  ...claimed('nfs3', { nfs: NFS, mountOptions: ['nfsvers=3', 'nolock'] }),
  ...claimed('block', {
    iscsi: { ...ISCSI, lun: ISCSI_UNITS.block, secretRef: { name: 'chap', namespace: 'default' } },
    volumeMode: 'Block',
  }),
];
const PODS: readonly Pod[] = [
  user('nfs4', { nfs: NFS }),
  user('nfs3', claim('nfs3')),
  user('iscsi', {
    iscsi: { ...ISCSI, lun: ISCSI_UNITS.fileSystem, fsType: 'ext4', secretRef: { name: 'chap' } },
  }),
  user('block', claim('block'), true),
  user('cifs', { azureFile: { secretName: 'azure', shareName: AZURE.share } }),
];
const NAMES = PODS.map(({ metadata }) => metadata?.name ?? '');

/** Each look costs the emulated machine a tenth of a second. */
const LOOKS = { timeoutMs: 120_000, intervalMs: 1000 } as const;

/** Mounts of the agent's volumes: type, options. */
async function volumeMounts(): Promise<readonly string[]> {
  const lines = (await node.vm.run(['cat', '/proc/mounts'])).split('\n');
  return lines.filter((line) => line.includes('/var/lib/nodeagent/'));
}

async function containerIDs(): Promise<readonly string[]> {
  const pods = await node.pods();
  return pods.map(({ status }) => status?.containerStatuses?.[0]?.containerID ?? '').toSorted();
}

describe('volumes of real servers', () => {
  // Each step stands on those before it: after a failure the others could only time out.
  let broken: string | undefined;
  beforeEach(() => {
    if (broken !== undefined) throw new Error(`not tried, as this failed: ${broken}`);
  });
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') broken ??= task.name;
  });

  test('pods write to nfs, iscsi with CHAP and cifs', async () => {
    await node.apply(...OBJECTS, ...PODS);
    for (const name of NAMES) await node.said(name, /^\S+ \S+ \S+ wrote$/m);
    const mounts = (await volumeMounts()).join('\n');
    expect(mounts).toMatch(/ nfs4 .*vers=4\.2/);
    expect(mounts).toMatch(/ nfs .*vers=3,.*nolock/);
    expect(mounts).toMatch(/ cifs .*vers=3\.0/);
    expect(mounts).toMatch(/ ext4 /);
  });

  test('nobody on the node can read the secrets from processes or mounts', async () => {
    const seen = await node.vm.sh('cat /proc/mounts /proc/[0-9]*/cmdline | tr "\\0" " "');
    for (const word of [CHAP.password, AZURE.key]) expect(seen).not.toContain(word);
  });

  test('an agent that was killed takes them over as they are', async () => {
    const before = { ids: await containerIDs(), mounts: await volumeMounts() };
    await node.killAgent();
    await eventually(async () => (await node.pods()).filter(isReady).length === NAMES.length, LOOKS);
    expect({ ids: await containerIDs(), mounts: await volumeMounts() }).toEqual(before);
  });

  test('pods read what they wrote before the power was cut', async () => {
    await node.vm.cutPower();
    for (const name of NAMES) expect(await node.said(name, /read .+$/m)).toContain(`read word of ${name}`);
  });

  test('a server that is gone is reported, and other pods start', async () => {
    await node.vm.run(['systemctl', 'stop', 'nfs-server']);
    await node.apply(
      // Version 4 shares the connection of the mount that is there, and waits in the kernel as that does.
      ...claimed('late', { nfs: NFS, mountOptions: ['nfsvers=3', 'nolock', 'retry=0'] }),
      user('late', claim('late')),
      user('other', { emptyDir: {} }),
    );
    await node.said('other', /wrote$/m);
    const ready = (await node.pods()).filter(isReady).map(({ metadata }) => metadata?.name);
    expect(ready).toEqual(expect.arrayContaining(['block', 'cifs', 'iscsi', 'other']));
    expect(await node.vm.run(['nodeagent', 'ps'])).toContain('other');
    await eventually(async () => (await node.events('late')).find((text) => text.includes('127.0.0.1:')), {
      ...LOOKS,
      what: 'an event names the share',
    });
  });

  test('pods end whose server is gone, and nothing of them is left', async () => {
    for (const name of ['nfs4', 'nfs3', 'late']) await node.remove('pod', name);
    await eventually(async () => (await node.pods()).length === NAMES.length - 1, LOOKS);
    expect((await volumeMounts()).join('\n')).not.toMatch(/ nfs4? /);
  });

  test('the last pod of a disk ends its session', async () => {
    expect(await node.vm.run(['iscsiadm', '--mode', 'session'])).toContain(ISCSI_TARGET);
    for (const name of ['iscsi', 'block', 'cifs', 'other']) await node.remove('pod', name);
    await eventually(async () => (await node.pods()).length === 0, LOOKS);
    expect(await volumeMounts()).toEqual([]);
    expect(await node.vm.sh('ls /sys/class/iscsi_session')).toBe('');
  });
});
