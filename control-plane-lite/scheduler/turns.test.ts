/** A thousand nodes and ten thousand pods, decided on in turns that others do not notice. What is counted is work, not
 *  time: looks at nodes, of each of which a machine does hundreds in a millisecond. */
import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { WakeEvent } from './filters/filter.ts';
import { enoughNodes, findNode } from './find-node.ts';
import type { NodeInfo, PodInfo } from './fleet/model.ts';
import { createPodReader } from './fleet/pod-info.ts';
import { pump } from './pump.ts';
import { createSchedulingQueue } from './queue.ts';
import { fleetOf, nodeObject, podObject, seeded } from './scheduler.fixture.ts';

const NODES = 1000;
const PODS = 10_000;
/** Of them on nodes already. */
const PLACED = 9500;
/** Of pods: as Deployments make them. */
const SHAPES = 100;
/** A pessimist's: measured are less than 1 µs. */
const LOOK_MS = 0.005;
const LONGEST_TURN_MS = 20;

/** Calls `onLook` for each check of the node, and `onPods` when its pods are iterated. */
function watch(node: NodeInfo, onLook: () => void, onPods: () => void): void {
  const { unschedulable, pods } = node;
  Object.defineProperty(node, 'unschedulable', {
    get() {
      onLook();
      return unschedulable;
    },
  });
  for (const name of ['values', 'keys', 'entries', 'forEach', Symbol.iterator] as const) {
    const method: unknown = Reflect.get(pods, name);
    Object.defineProperty(pods, name, {
      value(...args: readonly unknown[]) {
        onPods();
        const result: unknown = typeof method === 'function' ? Reflect.apply(method, pods, args) : undefined;
        return result;
      },
    });
  }
}

function world() {
  const counts = { looks: 0, walks: 0 };
  const fleet = fleetOf(Array.from({ length: NODES }, (_, index) => nodeObject(`n${index}`)));
  for (const node of fleet.nodes) {
    watch(
      node,
      () => void (counts.looks += 1),
      () => void (counts.walks += 1),
    );
  }
  const read = createPodReader();
  const pods = Array.from({ length: PODS }, (_, index) => {
    const metadata = {
      name: `p${index}`,
      namespace: 'default',
      uid: `u${index}`,
      labels: { app: `a${index % SHAPES}` },
    };
    return read(podObject(`p${index}`, { cpu: '10m', memory: '10Mi', metadata }));
  });
  return { counts, fleet, pods };
}

describe('a large fleet', () => {
  test('is decided in short turns, without a walk through pods', async () => {
    const { counts, fleet, pods } = world();
    const clock = { monotonic: () => counts.looks * LOOK_MS };
    const random = seeded(1);
    for (const [index, pod] of pods.slice(0, PLACED).entries()) fleet.addPod(pod, `n${index % NODES}`);
    const waiting = pods.slice(PLACED);
    const turns: number[] = [];
    let start = 0;
    let turnBegan = 0;
    function endTurn(): Promise<void> {
      turns.push(counts.looks - turnBegan);
      turnBegan = counts.looks;
      return Promise.resolve();
    }
    await pump(
      {
        clock,
        pause: endTurn,
        queue: { take: () => waiting.pop() },
        binder: { free: undefined },
        attempt(pod: PodInfo) {
          const decision = findNode(pod, fleet, { random, start });
          start = (start + decision.looked) % NODES;
          if (decision.kind === 'node') fleet.addPod(pod, decision.node.name);
        },
        flushEvents: () => undefined,
      },
      new AbortController().signal,
    );
    expect(waiting).toHaveLength(0);
    expect(pods.every(({ key }) => fleet.nodeOf(key) !== undefined)).toBe(true);
    expect(counts.walks).toBe(0);
    // Each pod checks a part of the nodes, regardless of the number of pods.
    expect(counts.looks).toBeLessThanOrEqual((PODS - PLACED) * enoughNodes(NODES));
    expect(Math.max(...turns) * LOOK_MS).toBeLessThanOrEqual(LONGEST_TURN_MS);
    expect(turns.length).toBeGreaterThan(100);
  });

  test('wakes all pods that wait at the price of a few timers', async () => {
    const { pods } = world();
    const fake = createFakeClock();
    let timers = 0;
    const clock = {
      ...fake,
      setTimer: (task: () => void, delayMs: number) => {
        timers += 1;
        return fake.setTimer(task, delayMs);
      },
    };
    const queue = createSchedulingQueue({ clock, onDue: () => undefined });
    const wokenBy: ReadonlySet<WakeEvent> = new Set(['podGone']);
    for (const pod of pods) queue.put(pod, false);
    for (let pod = queue.take(); pod !== undefined; pod = queue.take()) queue.giveBack(pod.key, wokenBy);
    timers = 0;
    queue.wake('podGone');
    expect(queue.take()).toBeUndefined();
    expect(timers).toBe(1);
    await fake.advance(1000);
    let due = 0;
    while (queue.take() !== undefined) due += 1;
    expect(due).toBe(PODS);
    queue.close();
  });
});
