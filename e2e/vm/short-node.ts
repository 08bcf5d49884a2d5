/** The node in the VM, set up so that it can run short of everything within seconds. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import {
  DISK_FLAGS,
  INODES_THRESHOLD,
  type ShortNode,
  SMALL_DISK,
  YOUNG_IMAGES_FLAG,
} from '../eviction/shortages.ts';
import { LOOKS, type VmNode } from './node.ts';
import { LOAD_UNUSED_IMAGE, UNUSED_IMAGE, UNUSED_IMAGE_MIB } from './payload.ts';
import { shellPod } from './pods.ts';

/** What all pods together may have. */
export const ALL_PODS_MIB = 600;
/** How much of that is to stay free. */
const FREE_MIB = 200;
/** Of what is free when the agent starts, so much has to be taken before the node is short. */
const PROCESSES = 300;
const REST_MIB = 60;
const IMAGES_MIB = 2 * UNUSED_IMAGE_MIB + 40;
/** What the node tells of its memory. */
export const MEMORY = { begins: 'NodeHasInsufficientMemory', ends: 'NodeHasSufficientMemory' } as const;
const ROOT_DIR = '/mnt/small';

/** It lies where images do, and has there all that it may need from the beginning. */
const MAKE_DISK = `fallocate --length ${SMALL_DISK.mebibytes}M ${ROOT_DIR}.disk
mkfs.ext4 -q -E nodiscard -m 0 -N ${SMALL_DISK.inodes} ${ROOT_DIR}.disk
mkdir -p ${ROOT_DIR}
mount -o loop ${ROOT_DIR}.disk ${ROOT_DIR}`;

/** MiB of memory; process numbers that are free; MiB that are free where images lie, and how much of it is used in percent. */
const FACTS = `awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo
echo $(($(cat /proc/sys/kernel/threads-max) - $(cut -d ' ' -f 4 /proc/loadavg | cut -d / -f 2)))
df --output=avail -B 1M /var/lib/containerd | tail -n 1
stat --file-system --format='%b %a' /var/lib/containerd | awk '{ print int(100 - 100 * $2 / $1) }'`;

interface Facts {
  readonly memoryMib: number;
  readonly processes: number;
  readonly imagesMib: number;
  readonly usedPercent: number;
}

async function factsOf({ vm }: VmNode): Promise<Facts> {
  const [memoryMib = 0, processes = 0, imagesMib = 0, usedPercent = 0] = (await vm.sh(FACTS))
    .trim()
    .split('\n')
    .map(Number);
  return { memoryMib, processes, imagesMib, usedPercent };
}

const forPods = ({ memoryMib }: Facts): string => `--system-reserved=memory=${memoryMib - ALL_PODS_MIB}Mi`;

/** The root directory on a small disk of its own; thresholds near to what there is. */
export async function startNearThresholds(node: VmNode): Promise<void> {
  await node.vm.sh(MAKE_DISK);
  const facts = await factsOf(node);
  const hard = [
    INODES_THRESHOLD,
    `pid.available<${facts.processes - PROCESSES}`,
    `imagefs.available<${facts.imagesMib - IMAGES_MIB}Mi`,
  ];
  await node.restartAgent([
    `--root-dir=${ROOT_DIR}`,
    forPods(facts),
    ...DISK_FLAGS,
    YOUNG_IMAGES_FLAG,
    `--eviction-hard=${hard.join()}`,
    '--housekeeping-interval=1s',
    '--eviction-pressure-transition-period=2s',
  ]);
}

/** Memory alone, and nothing is looked at by itself before the tests are over: what is noticed, the kernel has told. The
 *  disk of images is fuller than it may be when the agent starts. */
export async function startWithNotices(node: VmNode): Promise<void> {
  const facts = await factsOf(node);
  await node.restartAgent([
    `--root-dir=${ROOT_DIR}`,
    forPods(facts),
    YOUNG_IMAGES_FLAG,
    `--image-gc-high-threshold=${facts.usedPercent - 1}`,
    `--image-gc-low-threshold=${facts.usedPercent - 2}`,
    `--eviction-hard=allocatableMemory.available<${FREE_MIB}Mi`,
    '--kernel-memcg-notification',
    '--housekeeping-interval=10m',
    '--eviction-pressure-transition-period=2s',
    '--vmodule=eviction=4',
  ]);
}

/** Takes what is left until images have to go. */
export const REST = '/var/lib/rest';
export const fillRest = async ({ vm }: VmNode): Promise<void> =>
  void (await vm.run(['fallocate', '--length', `${REST_MIB}M`, REST]));

/** Brings an image that no pod uses. By itself it is not too much, or pods might have to go while it comes. */
export const bringImage = async ({ vm }: VmNode): Promise<void> => void (await vm.sh(LOAD_UNUSED_IMAGE));

/** Names of the images that are there, one a line. */
export const images = ({ vm }: VmNode): Promise<string> =>
  vm.run(['ctr', '--namespace', CONTAINERD_CRI_NAMESPACE, 'images', 'ls', '-q']);

export const hasImage = async (node: VmNode): Promise<boolean> => (await images(node)).includes(UNUSED_IMAGE);

export const shortVmNode = (node: VmNode): ShortNode => ({
  looks: LOOKS,
  run: (pod) => node.apply(pod),
  said: async (pod, text) => void (await node.said(pod, text)),
  pods: () => node.pods(),
  events: () => node.allEvents(),
});

/** A pod that waits for memory all the time: it reads more than it may keep. */
export function stallingPod(name: string): Pod {
  const script = 'head -c 40m /dev/zero >/x; while :; do cat /x >/dev/null; done';
  return shellPod(name, script, { resources: { limits: { memory: '12Mi' } } });
}

/** A pod with a container that is ended at its limit. The other one has none, so that the pod has none either. */
export function endlessPod(name: string): Pod {
  const { spec, ...pod } = shellPod(name, 'exec tail /dev/zero', {
    resources: { limits: { memory: '16Mi' } },
  });
  const [main] = spec?.containers ?? [];
  if (main === undefined) throw new Error('a pod without a container');
  const calm = { ...main, name: 'calm', command: ['sleep', '1000'], resources: {} };
  return once({ ...pod, spec: { ...spec, containers: [main, calm] } });
}

/** The pod, which does not start again when it has ended. */
export const once = (pod: Pod): Pod => ({
  ...pod,
  spec: { containers: [], ...pod.spec, restartPolicy: 'Never' },
});

/** How often the kernel has told the agent that processes wait for memory. */
export async function notices({ vm }: VmNode): Promise<number> {
  const count = `journalctl --unit nodeagent --output cat | grep -c 'The kernel tells of memory' || true`;
  return Number(await vm.sh(count));
}
