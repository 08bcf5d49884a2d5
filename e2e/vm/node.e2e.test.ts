/** What pods in the VM need a kernel of its own for: volumes of real servers, project quotas, file systems that grow,
 *  cgroups of version 2. What a pod wrote is there after the agent was killed and after the power was cut; a server that
 *  is gone hurts only the pods that need it. One VM for all: its start takes longer than any test. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import type { Seen } from './checks/file-systems.ts';
import { startVmNode, type VmNode } from './node.ts';
import { claim, claimed, memoryHog, secret, user } from './pods.ts';
import {
  AZURE,
  CHAP,
  INITIATOR,
  ISCSI_PORTAL,
  ISCSI_TARGET,
  ISCSI_UNITS,
  NAMED_TARGET,
  NFS_EXPORT,
  SECOND_PORTAL,
  startStorageServers,
} from './storage-servers.ts';

let node: VmNode;

beforeAll(async () => {
  node = await startVmNode({
    cgroupDriver: 'systemd',
    flags: [
      '--feature-gates=LocalStorageCapacityIsolationFSQuotaMonitoring=true',
      '--volume-stats-agg-period=10s',
    ],
  });
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
/** Volumes of the pods, by the pods' names. */
const VOLUMES: Readonly<Record<string, readonly string[]>> = {
  'of-nfs': ['nfs4', 'nfs3'],
  others: ['iscsi', 'paths', 'block', 'cifs', 'scratch'],
};
const PODS = [
  user('of-nfs', { nfs4: { nfs: NFS }, nfs3: claim('nfs3') }),
  user('others', {
    iscsi: {
      iscsi: { ...ISCSI, lun: ISCSI_UNITS.fileSystem, fsType: 'ext4', secretRef: { name: 'chap' } },
    },
    paths: {
      iscsi: {
        targetPortal: ISCSI_PORTAL,
        portals: [SECOND_PORTAL],
        iqn: NAMED_TARGET,
        initiatorName: INITIATOR,
        lun: 1,
        fsType: 'ext4',
      },
    },
    block: claim('block'),
    cifs: { azureFile: { secretName: 'azure', shareName: AZURE.share } },
    scratch: { emptyDir: {} },
  }),
];

const NAMES = Object.keys(VOLUMES);
/** Held open in the emptyDir after it was removed: counted by its file system, and found by no walk. */
const HIDDEN_BYTES = 8 * 1024 * 1024;
const HIDE = `folder=$(ls -d /var/lib/nodeagent/pods/*/volumes/*empty-dir/scratch)
systemd-run --quiet --unit=hidden bash -c "exec 3>$folder/hidden; rm $folder/hidden; head -c ${HIDDEN_BYTES} /dev/zero >&3; exec sleep 1000"`;

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

async function scratchBytes(): Promise<number> {
  const { pods } = await node.summary();
  const figures = pods.find(({ podRef }) => podRef.name === 'others')?.volume;
  return figures?.find(({ name }) => name === 'scratch')?.usedBytes ?? 0;
}

// Each step stands on those before it: after a failure the others could only time out.
let broken: string | undefined;
beforeEach(() => {
  if (broken !== undefined) throw new Error(`not tried, as this failed: ${broken}`);
});
afterEach(async ({ task }) => {
  if (task.result?.state !== 'fail' || broken !== undefined) return;
  broken = task.name;
  console.error(await node.journal());
});

describe('volumes of real servers', () => {
  test('pods write to nfs, iscsi with CHAP and cifs', async () => {
    await node.apply(...OBJECTS, ...PODS);
    for (const name of NAMES) await node.said(name, 'all wrote');
    const mounts = (await volumeMounts()).join('\n');
    expect(mounts).toMatch(/ nfs4 .*vers=4\.2/);
    expect(mounts).toMatch(/ nfs .*vers=3,.*nolock/);
    expect(mounts).toMatch(/ cifs .*vers=3\.0/);
    expect(mounts).toMatch(/ ext4 /);
    await node.vm.sh(HIDE);
  });

  test('a disk of several portals has a session at each, under the name that the volume gives', async () => {
    const sessions = await node.vm.sh(`for dir in /sys/class/iscsi_session/*; do
      if [ "$(cat $dir/targetname)" = ${NAMED_TARGET} ]; then
        number=\${dir##*session}
        echo "$(cat $dir/initiatorname) $(cat /sys/class/iscsi_connection/connection$number:0/persistent_address)"
      fi
    done`);
    const addresses = [ISCSI_PORTAL, SECOND_PORTAL].map((portal) => portal.split(':')[0]);
    expect(sessions.trim().split('\n').toSorted()).toEqual(addresses.map((at) => `${INITIATOR} ${at}`));
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

  test('an emptyDir is what its file system counts for it', async () => {
    const what = 'the project of the emptyDir is looked at';
    const isCounted = async (): Promise<boolean> => (await scratchBytes()) >= HIDDEN_BYTES;
    expect(await eventually(isCounted, { ...LOOKS, what })).toBe(true);
  });

  test('pods read what they wrote before the power was cut', async () => {
    await node.vm.cutPower();
    for (const [pod, volumes] of Object.entries(VOLUMES)) {
      const said = await node.said(pod, 'all read');
      for (const volume of volumes) expect(said).toContain(`${volume} read word of ${volume}`);
    }
  });

  test('a server that is gone is reported, and other pods start', async () => {
    await node.vm.run(['systemctl', 'stop', 'nfs-server']);
    await node.apply(
      // Version 4 shares the connection of the mount that is there, and waits in the kernel as that does.
      ...claimed('late', { nfs: NFS, mountOptions: ['nfsvers=3', 'nolock', 'retry=0'] }),
      user('late', { late: claim('late') }),
      user('other', { other: { emptyDir: {} } }),
    );
    await node.said('other', 'all wrote');
    const ready = (await node.pods()).filter(isReady).map(({ metadata }) => metadata?.name);
    expect(ready).toEqual(expect.arrayContaining(['others', 'other']));
    expect(await node.vm.run(['nodeagent', 'ps'])).toContain('other');
    await eventually(async () => (await node.events('late')).find((text) => text.includes('127.0.0.1:')), {
      ...LOOKS,
      what: 'an event names the share',
    });
  });

  test('pods end whose server is gone, and nothing of them is left', async () => {
    await node.remove('of-nfs', 'late');
    await eventually(async () => (await node.pods()).length === 2, LOOKS);
    expect((await volumeMounts()).join('\n')).not.toMatch(/ nfs4? /);
  });

  test('the last pod of a disk ends its session', async () => {
    expect(await node.vm.run(['iscsiadm', '--mode', 'session'])).toContain(ISCSI_TARGET);
    await node.remove('others', 'other');
    await eventually(async () => (await node.pods()).length === 0, LOOKS);
    expect(await volumeMounts()).toEqual([]);
    expect(await node.vm.sh('ls /sys/class/iscsi_session')).toBe('');
  });
});

describe('file systems that are mounted', () => {
  test('grow with their disk, and count what a folder has by its project', async () => {
    const seen = (await node.check('file-systems')).map((line) => JSON.parse(line) as Seen);
    expect(seen.map(({ fsType, grew }) => [fsType, grew])).toEqual([
      ['ext4', true],
      ['xfs', true],
    ]);
    for (const { full, empty, beforeMib, afterMib } of seen) {
      expect(full).toMatchObject({ inodes: 3 });
      expect(full?.usedBytes).toBeGreaterThanOrEqual(3 * 1024 * 1024);
      expect(empty).toMatchObject({ inodes: 1 });
      expect(afterMib).toBeGreaterThan(beforeMib + 60);
    }
  });
});

/** What all pods together may have, and how much of it is to stay free. */
const ALL_PODS_MIB = 400;
const FREE_MIB = 200;

/** The cgroup of a pod: its files, by name. */
async function cgroupOf(pod: string, ...files: readonly string[]): Promise<readonly string[]> {
  const found = (await node.pods()).find(({ metadata }) => metadata?.name === pod);
  const uid = (found?.metadata?.uid ?? '').replaceAll('-', '_');
  const paths = files.map((file) => `"$folder/${file}"`).join(' ');
  const text = await node.vm.sh(`folder=$(find /sys/fs/cgroup -type d -name '*-pod${uid}.slice')
    echo "\${folder#/sys/fs/cgroup}"; cat ${paths}`);
  return text.trim().split('\n');
}

const phaseOf = async (name: string): Promise<string | undefined> => {
  const found = (await node.pods()).find(({ metadata }) => metadata?.name === name);
  return found?.status?.reason ?? found?.status?.phase;
};

describe('pods in cgroups of version 2, made by systemd', () => {
  test('have slices below that of their class, with their limits', async () => {
    const memory = await node.vm.sh("awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo");
    await node.restartAgent([
      `--system-reserved=memory=${Number(memory) - ALL_PODS_MIB}Mi`,
      `--eviction-hard=allocatableMemory.available<${FREE_MIB}Mi`,
      '--housekeeping-interval=2s',
      '--eviction-pressure-transition-period=2s',
    ]);
    const guaranteed = { cpu: '500m', memory: '100Mi' };
    await node.apply(
      memoryHog('guaranteed', 50, { limits: guaranteed, requests: guaranteed }),
      memoryHog('burstable', 40, { requests: { memory: '30Mi' } }),
    );
    for (const name of ['guaranteed', 'burstable']) await node.said(name, 'took it');
    const [path, ...limits] = await cgroupOf('guaranteed', 'memory.max', 'cpu.max');
    expect(path).toMatch(/^\/[a-z]+\.slice\/[a-z]+-pod[0-9a-f_]+\.slice$/);
    expect(limits).toEqual([String(100 * 1024 * 1024), '50000 100000']);
    const [burstable, most] = await cgroupOf('burstable', 'memory.max');
    expect(burstable).toMatch(
      /^\/[a-z]+\.slice\/[a-z]+-burstable\.slice\/[a-z]+-burstable-pod[0-9a-f_]+\.slice$/,
    );
    expect(most).toBe('max');
    const all = await node.vm.sh(`cat /sys/fs/cgroup/${path?.split('/')[1]}/memory.max`);
    expect(Number(all) / 1024 / 1024).toBeCloseTo(ALL_PODS_MIB, -1);
  });

  test('lose the one that has no claim to what it takes, and no other', async () => {
    await node.apply(memoryHog('best-effort', 200));
    await eventually(async () => (await phaseOf('best-effort')) === 'Evicted', LOOKS);
    const hog = (await node.pods()).find(({ metadata }) => metadata?.name === 'best-effort');
    expect(hog?.status?.message).toContain('The node was low on resource: memory.');
    expect([await phaseOf('guaranteed'), await phaseOf('burstable')]).toEqual(['Running', 'Running']);
  });

  test('leave no cgroup behind', async () => {
    await node.remove('guaranteed', 'burstable', 'best-effort');
    await eventually(async () => (await node.pods()).length === 0, LOOKS);
    const left = (): Promise<string> => node.vm.sh("find /sys/fs/cgroup -type d -name '*-pod*.slice'");
    await eventually(async () => (await left()) === '', LOOKS);
    expect(await left()).toBe('');
  });
});
