/** The node in the VM, configured so that every kind of pressure can occur within seconds. */
import type { Pod } from '#api/gen/core-v1.ts';
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

/** Memory limit of all pods together. */
export const ALL_PODS_MIB = 600;
/** Threshold of free memory. */
const FREE_MIB = 200;
/** Amount that has to be used of the free resources at the agent's start before the node is under pressure. */
const PROCESSES = 300;
const REST_MIB = 60;
const IMAGES_MIB = 2 * UNUSED_IMAGE_MIB + 40;
/** Event reasons of memory pressure. */
export const MEMORY = { begins: 'NodeHasInsufficientMemory', ends: 'NodeHasSufficientMemory' } as const;
const ROOT_DIR = '/mnt/small';

/** Stored beside the images, with all its space allocated from the beginning. */
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

/** Only memory, with an interval longer than the tests, so that only kernel notifications can trigger. The
 *  disk of images is above its threshold when the agent starts. */
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

/** Fills the remaining space until images must be collected. */
export const REST = '/var/lib/rest';
export const fillRest = async ({ vm }: VmNode): Promise<void> =>
  void (await vm.run(['fallocate', '--length', `${REST_MIB}M`, REST]));

/** Imports an unused image. Alone it does not exceed the threshold, or pods might be evicted during the
 *  import. */
export const bringImage = async ({ vm }: VmNode): Promise<void> => void (await vm.sh(LOAD_UNUSED_IMAGE));

/** Names of the existing images, one per line. */
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

/** A pod that stalls on memory all the time: it reads more than it can cache. */
export function stallingPod(name: string): Pod {
  const script = 'head -c 40m /dev/zero >/x; while :; do cat /x >/dev/null; done';
  return shellPod(name, script, { resources: { limits: { memory: '12Mi' } } });
}

/** A pod with a container that is killed at its limit. The other one has no limit, so that the pod has none
 *  either. */
export function endlessPod(name: string): Pod {
  const { spec, ...pod } = shellPod(name, 'exec tail /dev/zero', {
    resources: { limits: { memory: '16Mi' } },
  });
  const [main] = spec?.containers ?? [];
  if (main === undefined) throw new Error('a pod without a container');
  const calm = { ...main, name: 'calm', command: ['sleep', '1000'], resources: {} };
  return once({ ...pod, spec: { ...spec, containers: [main, calm] } });
}

/** The pod, with restart policy Never. */
export const once = (pod: Pod): Pod => ({
  ...pod,
  spec: { containers: [], ...pod.spec, restartPolicy: 'Never' },
});

/** Number of the kernel's memory stall notifications to the agent. */
export async function notices({ vm }: VmNode): Promise<number> {
  const count = `journalctl --unit nodeagent --output cat | grep -c 'Memory threshold notification received' || true`;
  return Number(await vm.sh(count));
}
