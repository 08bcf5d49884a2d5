/** Scenarios of node pressure with their expected evictions: the same pods on any machine, for both cgroup
 *  versions and drivers. */
import { expect } from 'vitest';
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { eventually } from '../../testing/wait.ts';

/** A node under test. Pods have the names of their manifests. */
export interface ShortNode {
  run(pod: Pod): Promise<void>;
  /** Waits for this output of the pod. */
  said(pod: string, text: string): Promise<void>;
  pods(): Promise<readonly Pod[]>;
  events(): Promise<readonly Event[]>;
  /** Timeout and interval of polling. */
  readonly looks: { readonly timeoutMs: number; readonly intervalMs: number };
}

/** Pressure on one resource, caused by a pod. */
export interface Shortage {
  /** Of the pod. */
  readonly name: string;
  /** Script of the pod. */
  readonly takes: string;
  /** Event reasons of the node at the start and end of the pressure. */
  readonly begins: string;
  readonly ends: string;
  /** Message of the pod's eviction. */
  readonly message: RegExp;
}

const TOOK_IT = 'took it';
const STAY = `echo ${TOOK_IT}; trap exit TERM; while :; do sleep 1000 & wait $!; done`;
const DISK = { begins: 'NodeHasDiskPressure', ends: 'NodeHasNoDiskPressure' } as const;
const isFull = (what: string): RegExp =>
  new RegExp(`^The node was low on resource: ${what}\\. Threshold quantity: \\S+, available: \\S+\\.`);

const files = (count: number): string =>
  `cd /data; i=0; while [ $i -lt ${count} ]; do i=$((i+1)); : >$i; done`;

/** A pod that uses this many MiB of the volumes' disk. */
export const fills = (name: string, mebibytes: number): Shortage => ({
  name,
  takes: `head -c ${mebibytes}m /dev/zero >/data/x`,
  ...DISK,
  message: isFull('ephemeral-storage'),
});

/** A pod that creates this many files. */
export const litters = (name: string, count: number): Shortage => ({
  name,
  takes: files(count),
  ...DISK,
  message: isFull('inodes'),
});

/** A pod that runs this many processes. */
export const forks = (name: string, count: number): Shortage => ({
  name,
  takes: `i=0; while [ $i -lt ${count} ]; do i=$((i+1)); sleep 1000 & done`,
  begins: 'NodeHasInsufficientPID',
  ends: 'NodeHasSufficientPID',
  message: isFull('pids'),
});

/** The small disk of the root directory. */
export const SMALL_DISK = { mebibytes: 64, inodes: 3000 } as const;
const GRACE_S = 3;
export const DISK_GRACE_MS: number = GRACE_S * 1000 - 100;

/** For the small disk: the second and third of these pods exceed the threshold, and both must be evicted. */
export const DISK_FLAGS: readonly string[] = [
  '--eviction-soft=nodefs.available<35Mi',
  `--eviction-soft-grace-period=nodefs.available=${GRACE_S}s`,
  '--eviction-minimum-reclaim=nodefs.available=14Mi',
];
export const DISK_TAKERS: readonly Shortage[] = [fills('second', 15), fills('greedy', 20)];
export const INODES_THRESHOLD = 'nodefs.inodesFree<30%';
export const INODES_TAKERS: readonly Shortage[] = [litters('files', 2300)];

/** Uses a little of everything, and must not be evicted. */
export const MODEST: Pick<Shortage, 'name' | 'takes'> = {
  name: 'modest',
  takes: `head -c 5m /dev/zero >/data/x; ${files(100)}`,
};

/** Not restarted after the pressure ends, when it would exceed the threshold again. */
function podThat({ name, takes }: Pick<Shortage, 'name' | 'takes'>): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', emptyDir: {} }],
      containers: [
        {
          name: 'c',
          image: 'local/busybox:1',
          command: ['sh', '-c', `${takes}; ${STAY}`],
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        },
      ],
    },
  };
}

/** Runs the pod, and waits until it has used its amount. */
export async function takesIt(node: ShortNode, who: Pick<Shortage, 'name' | 'takes'>): Promise<void> {
  await node.run(podThat(who));
  await node.said(who.name, TOOK_IT);
}

const byTime = (one: Event, other: Event): number =>
  Date.parse(one.firstTimestamp ?? '') - Date.parse(other.firstTimestamp ?? '');

/** Returns the names of evicted pods in the order of their eviction. */
export async function evicted(node: ShortNode): Promise<readonly string[]> {
  const events = (await node.events()).filter(({ reason }) => reason === 'Evicted');
  return events.toSorted(byTime).map(({ involvedObject }) => involvedObject?.name ?? '');
}

/** Returns how many events of this reason the node has. */
async function timesTold(node: ShortNode, reason: string): Promise<number> {
  const reported = (await node.events()).filter(
    (event) => event.involvedObject?.kind === 'Node' && event.reason === reason,
  );
  return reported.reduce((sum, { count = 1 }) => sum + count, 0);
}

/** Waits until the node has reported the pressure, and its end, once more than before.
 *  @returns a function that waits */
export async function conditionOf(
  node: ShortNode,
  { begins, ends }: Pick<Shortage, 'begins' | 'ends'>,
): Promise<{ readonly begins: () => Promise<void>; readonly ends: () => Promise<void> }> {
  const reports = async (reason: string): Promise<() => Promise<void>> => {
    const before = await timesTold(node, reason);
    return async () => {
      const what = `the node reports ${reason}`;
      await eventually(async () => (await timesTold(node, reason)) > before, { ...node.looks, what });
    };
  };
  return { begins: await reports(begins), ends: await reports(ends) };
}

/** Waits until the pod was evicted. */
export function isGivenUp(node: ShortNode, name: string): Promise<Pod> {
  return eventually(
    async () => {
      const pod = (await node.pods()).find(({ metadata }) => metadata?.name === name);
      if (pod?.status?.phase === 'Failed' && pod.status.reason === 'Evicted') return pod;
      throw new Error(`it is ${JSON.stringify(pod?.status)}`);
    },
    { ...node.looks, what: `${name} is evicted` },
  );
}

/** Returns the time from the node's event to the pod's termination, in ms. */
async function timeLeft(node: ShortNode, reason: string, pod: string): Promise<number> {
  const all = await node.events();
  const reported = all.find((event) => event.involvedObject?.kind === 'Node' && event.reason === reason);
  const ended = all.find((event) => event.involvedObject?.name === pod && event.reason === 'Evicted');
  return Date.parse(ended?.firstTimestamp ?? '') - Date.parse(reported?.lastTimestamp ?? '');
}

/** Runs pods of which the last one exceeds the threshold: they are evicted with the expected message, and the
 *  node reports it.
 *  @param graceMs grace period of the soft threshold
 *  @returns evicted pods, in this order */
export async function whoEnds(
  node: ShortNode,
  takers: readonly Shortage[],
  graceMs = 0,
): Promise<readonly string[]> {
  const last = takers.at(-1);
  if (last === undefined) throw new Error('no pod uses anything');
  const before = await evicted(node);
  const condition = await conditionOf(node, last);
  for (const taker of takers.slice(0, -1)) await takesIt(node, taker);
  // It may be evicted before it has used its amount.
  await node.run(podThat(last));
  await condition.begins();
  for (const { name, message } of takers.toReversed()) {
    expect((await isGivenUp(node, name)).status?.message).toMatch(message);
  }
  expect(await timeLeft(node, last.begins, last.name)).toBeGreaterThanOrEqual(graceMs);
  await condition.ends();
  const modest = (await node.pods()).find(({ metadata }) => metadata?.name === MODEST.name);
  expect(modest?.status?.phase).toBe('Running');
  return (await evicted(node)).slice(before.length);
}

/** An image may be collected as soon as it has been pulled. */
export const YOUNG_IMAGES_FLAG = '--minimum-image-ttl-duration=0s';

/** Fills the disk until an unused image must be collected, which the node reports.
 *  @param fill fills the disk of images beyond the threshold; without the image it is below
 *  @param isThere reports whether the image still exists
 *  @returns evicted pods */
export async function whoEndsBesideImage(
  node: ShortNode,
  fill: () => Promise<void>,
  isThere: () => Promise<boolean>,
): Promise<readonly string[]> {
  const before = await evicted(node);
  const condition = await conditionOf(node, DISK);
  // A runtime may notice late an image that was imported without it.
  await eventually(isThere, { ...node.looks, what: 'the image is there' });
  await fill();
  await condition.begins();
  await eventually(async () => !(await isThere()), { ...node.looks, what: 'the image goes' });
  await condition.ends();
  return (await evicted(node)).slice(before.length);
}
