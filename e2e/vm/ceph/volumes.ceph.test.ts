/** Volumes of a real Ceph cluster: an image and a file system. Not part of `npm test`, because the cluster's
 *  packages take as long as all other end-to-end tests: `npm run test:ceph`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isReady } from '../../../testing/agent.ts';
import { eventually } from '../../../testing/wait.ts';
import { startVmNode, type VmNode } from '../node.ts';
import { secret, user } from '../pods.ts';
import { CEPH, cephDisk } from './cluster.ts';

let node: VmNode;

beforeAll(async () => {
  node = await startVmNode({ addition: await cephDisk() });
}, 1_800_000);

afterAll(async () => {
  await node[Symbol.asyncDispose]();
});

const ACCESS = { monitors: [CEPH.monitor], user: CEPH.user, secretRef: { name: 'ceph' } };
const LOOKS = { timeoutMs: 240_000, intervalMs: 2000 } as const;
/** Returns Ceph's mounts, and images mapped in the kernel. */
const LEFT = "grep -c 'ceph\\|/dev/rbd' /proc/mounts; ls /sys/bus/rbd/devices";

test('a pod writes to an image and to a file system', async () => {
  const key = await node.vm.run(['cat', CEPH.keyFile]);
  await node.apply(
    secret('ceph', { key }),
    user('ceph', {
      rbd: { rbd: { ...ACCESS, pool: CEPH.pool, image: CEPH.image, fsType: 'ext4' } },
      files: { cephfs: ACCESS },
    }),
  );
  const said = await node.said('ceph', 'all wrote');
  expect(said).toMatch(/files wrote word of files[^]*rbd wrote word of rbd/);
  const mounts = await node.vm.run(['cat', '/proc/mounts']);
  expect(mounts).toMatch(/^\/dev\/rbd0 \S+ ext4 /m);
  expect(mounts).toMatch(/^127\.0\.0\.1:6789:\/ \S+ ceph .*name=tester,secret=<hidden>/m);
  const seen = await node.vm.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "');
  expect(seen).not.toContain(key.trim());
});

test('an agent that was killed adopts them unchanged', async () => {
  const [before] = await node.pods();
  await node.killAgent();
  const after = await eventually(async () => (await node.pods()).find(isReady), LOOKS);
  expect(after.status?.containerStatuses?.[0]?.containerID).toBe(
    before?.status?.containerStatuses?.[0]?.containerID,
  );
});

test('the pod reads what it wrote before the power was cut', async () => {
  await node.vm.cutPower();
  // The servers of the cluster start at the same time.
  await eventually(() => node.pods(), LOOKS);
  const said = await node.said('ceph', 'all read');
  expect(said).toMatch(/files read word of files[^]*rbd read word of rbd/);
});

test('nothing of them is left after the pod', async () => {
  await node.remove('ceph');
  await eventually(async () => (await node.pods()).length === 0, LOOKS);
  expect(await node.vm.sh(`{ ${LEFT}; } || true`)).toBe('0\n');
});
