/** Volumes that need their own kernel: of real storage servers, counted by project quotas, on expanding file
 *  systems. Data survives a kill of the agent and a power failure; an unavailable server affects only the
 *  pods that need it. One VM for all tests: its start takes longer than any of them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import type { Seen } from './checks/file-systems.ts';
import { LOOKS, startVmNode, type VmNode } from './node.ts';
import { oneAfterAnother } from './one-after-another.ts';
import { beating, claim, claimed, secret, user } from './pods.ts';
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
oneAfterAnother(() => node);

const NFS = { server: '127.0.0.1', path: NFS_EXPORT };
const ISCSI = {
  targetPortal: ISCSI_PORTAL,
  iqn: ISCSI_TARGET,
  chapAuthSession: true,
};
const PATHS = {
  targetPortal: ISCSI_PORTAL,
  portals: [SECOND_PORTAL],
  iqn: NAMED_TARGET,
  lun: 1,
  fsType: 'ext4',
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
    paths: { iscsi: { ...PATHS, initiatorName: INITIATOR } },
    block: claim('block'),
    cifs: { azureFile: { secretName: 'azure', shareName: AZURE.share } },
    scratch: { emptyDir: {} },
  }),
];

const NAMES = Object.keys(VOLUMES);
/** Removed from the emptyDir while open: counted by the file system, but not visible to a directory walk. */
const HIDDEN_BYTES = 8 * 1024 * 1024;
const HIDE = `folder=$(ls -d /var/lib/nodeagent/pods/*/volumes/*empty-dir/scratch)
systemd-run --quiet --unit=hidden bash -c "exec 3>$folder/hidden; rm $folder/hidden; head -c ${HIDDEN_BYTES} /dev/zero >&3; exec sleep 1000"`;

/** Its server admits every initiator in addition to the configured ones, unless that is disabled. */
const CLOSE_TARGET = `tid=$(tgtadm --lld iscsi --op show --mode target | sed -n 's/^Target \\([0-9]*\\): ${NAMED_TARGET}$/\\1/p')
tgtadm --lld iscsi --op unbind --mode target --tid $tid -I ALL`;
const second = SECOND_PORTAL.split(':')[0];
/** Breaks its connections and blocks new ones. */
const BLOCK_PORTAL = `ip route add blackhole ${second}/32 table local; ss --kill dst ${second} >/dev/null || true`;
const UNBLOCK_PORTAL = `ip route del blackhole ${second}/32 table local`;

/** Mounts of the agent's volumes: type, options. */
async function volumeMounts(): Promise<readonly string[]> {
  const lines = (await node.vm.run(['cat', '/proc/mounts'])).split('\n');
  return lines.filter((line) => line.includes('/var/lib/nodeagent/'));
}

/** The maps over paths, and how many paths each has. */
const maps = async (): Promise<string> =>
  (await node.vm.run(['multipathd', 'show', 'maps', 'raw', 'format', '%n %N'])).trim();

async function containerIDs(): Promise<readonly string[]> {
  const pods = await node.pods();
  return pods.map(({ status }) => status?.containerStatuses?.[0]?.containerID ?? '').toSorted();
}

async function scratchBytes(): Promise<number> {
  const { pods } = await node.summary();
  const figures = pods.find(({ podRef }) => podRef.name === 'others')?.volume;
  return figures?.find(({ name }) => name === 'scratch')?.usedBytes ?? 0;
}

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

  test('is mounted by the map over its paths, and no other disk is', async () => {
    const mapped = (await volumeMounts()).filter((line) => /^\/dev\/(?:dm-|mapper\/)/.test(line));
    expect(mapped.map((line) => /\/volumes\/[^/]+\/([^ ]+) /.exec(line)?.[1] ?? 'global')).toEqual([
      'global',
      'paths',
    ]);
    expect(await maps()).toBe('mpatha 2');
  });

  test('secrets cannot be read from processes or mounts on the node', async () => {
    const seen = await node.vm.sh('cat /proc/mounts /proc/[0-9]*/cmdline | tr "\\0" " "');
    for (const word of [CHAP.password, AZURE.key]) expect(seen).not.toContain(word);
  });

  test('an agent that was killed adopts them unchanged', async () => {
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

  test('a target that knows the node by another name is reported, and the pod beside it starts', async () => {
    await node.vm.sh(CLOSE_TARGET);
    await node.apply(
      user('refused', { disk: { iscsi: { targetPortal: SECOND_PORTAL, iqn: NAMED_TARGET, lun: 1 } } }),
      beating('beats', { iscsi: { ...PATHS, initiatorName: INITIATOR } }),
    );
    await node.said('beats', 'beat 2');
    const isTold = async (): Promise<boolean> =>
      (await node.events('refused')).some(
        (text) => text.includes(NAMED_TARGET) && text.includes('initiatorName'),
      );
    const what = 'an event says that the target is not for this initiator';
    expect(await eventually(isTold, { ...LOOKS, what })).toBe(true);
    await node.remove('refused');
  });

  test('a pod goes on writing when one of the portals is gone', async () => {
    await node.vm.sh(BLOCK_PORTAL);
    const last = (await node.said('beats', 'beat 2')).match(/beat (\d+)/g)?.at(-1);
    const next = Number(last?.split(' ')[1]) + 8;
    await node.said('beats', `beat ${next}`);
    const isFailed = async (): Promise<boolean> =>
      / F \d/.test(await node.vm.run(['dmsetup', 'status', 'mpatha']));
    expect(await eventually(isFailed, { ...LOOKS, what: 'the path is known to have failed' })).toBe(true);
  });

  test('the last pod of a disk ends its session', async () => {
    expect(await node.vm.run(['iscsiadm', '--mode', 'session'])).toContain(ISCSI_TARGET);
    await node.remove('others', 'other', 'beats');
    await eventually(async () => (await node.pods()).length === 0, LOOKS);
    expect(await volumeMounts()).toEqual([]);
    // The daemon says of no maps what its version makes of it; the kernel says which there are.
    expect(await node.vm.sh('ls /sys/class/iscsi_session; ls /dev/mapper')).toBe('control\n');
    await node.vm.sh(UNBLOCK_PORTAL);
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
