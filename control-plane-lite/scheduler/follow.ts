/** Updates fleet and queue from the nodes and pods of the cache, and reports events that may make pods
 *  schedulable. */

import type { Node, Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { CacheChange, CachedObject, ResourceCache, WatchHandle } from '../cache/contract.ts';
import { typed } from '../resources/view.ts';
import type { WakeEvent } from './filters/filter.ts';
import type { Fleet } from './fleet/fleet.ts';
import { type NodeFacts, nodeChanges, readNode } from './fleet/node-facts.ts';
import { hasEnded, type ReadPod } from './fleet/pod-info.ts';
import type { SchedulingQueue } from './queue.ts';
import { SCHEDULER_NAME } from './write/event-writer.ts';

export interface FollowDeps {
  readonly nodes: ResourceCache;
  readonly pods: ResourceCache;
  readonly fleet: Fleet;
  readonly queue: SchedulingQueue;
  readonly readPod: ReadPod;
  /** Called when the fleet has changed, with the events that can make pods schedulable. */
  readonly onChange: (...events: readonly WakeEvent[]) => void;
  /** The pod no longer needs scheduling. */
  readonly onDone: (key: string) => void;
  /** Whether the pod is being bound. */
  readonly isBinding: (key: string) => boolean;
  /** An object could not be read. */
  readonly onError: (error: Error) => void;
  /** Yields to the event loop. */
  readonly pause: () => Promise<void>;
}

export interface Following {
  /** Resolves when the initial state has been read. */
  readonly loaded: Promise<void>;
  close(): void;
}

/** Objects read per batch at the start. */
const IN_A_GO = 50;

/** Pods on unknown nodes. They are parsed once their nodes are added. */
interface UnplacedPods {
  put(key: string, nodeName: string): void;
  remove(key: string): void;
  /** Removes and returns those of a node. */
  take(nodeName: string): readonly string[];
}

function createUnplacedPods(): UnplacedPods {
  const byNode = new Map<string, Set<string>>();
  const nodeOf = new Map<string, string>();
  function remove(key: string): void {
    const nodeName = nodeOf.get(key);
    if (nodeName === undefined) return;
    nodeOf.delete(key);
    const keys = byNode.get(nodeName);
    keys?.delete(key);
    if (keys?.size === 0) byNode.delete(nodeName);
  }
  return {
    put(key, nodeName) {
      if (nodeOf.get(key) === nodeName) return;
      remove(key);
      nodeOf.set(key, nodeName);
      const keys = byNode.get(nodeName);
      if (keys === undefined) byNode.set(nodeName, new Set([key]));
      else keys.add(key);
    },
    remove,
    take(nodeName) {
      const keys = [...(byNode.get(nodeName) ?? [])];
      for (const key of keys) nodeOf.delete(key);
      byNode.delete(nodeName);
      return keys;
    },
  };
}

/** Processes the changes of pods. */
function createPodHandler(deps: FollowDeps, unplaced: UnplacedPods): (change: CacheChange) => void {
  const { fleet, queue, readPod, onChange, onDone } = deps;

  function gone(key: string): void {
    queue.remove(key);
    fleet.withdraw(key);
    unplaced.remove(key);
    onDone(key);
    if (fleet.removePod(key) !== undefined) onChange('podGone');
  }

  /** It has a node. */
  function placed(current: CachedObject, nodeName: string): void {
    const { key } = current;
    const known = queue.get(key);
    if (known !== undefined) {
      queue.remove(key);
      fleet.withdraw(key);
      onDone(key);
    }
    if (fleet.node(nodeName) === undefined) {
      fleet.removePod(key);
      unplaced.put(key, nodeName);
      return;
    }
    const pod = readPod(typed<Pod>(current.object()));
    const before = fleet.nodeOf(key) === nodeName ? fleet.node(nodeName)?.pods.get(key) : undefined;
    fleet.addPod(pod, nodeName);
    const leaves = pod.terminating && before?.terminating !== true;
    const comes = before?.shape.labels !== pod.shape.labels;
    if (leaves) onChange('podGone');
    if (comes) onChange('podCame');
  }

  /** It waits for one. */
  function pending(current: CachedObject): void {
    const { key } = current;
    const object = typed<Pod>(current.object());
    if (object.metadata?.deletionTimestamp !== undefined) return gone(key);
    // Changes meanwhile arrive with its binding, or with the next attempt.
    if (deps.isBinding(key) && queue.get(key)?.uid === object.metadata?.uid) return;
    const pod = readPod(object);
    const known = queue.get(key);
    if (known !== undefined && known.uid !== pod.uid) gone(key);
    queue.put(pod, known?.shape !== pod.shape);
    if (pod.nominatedNodeName !== '') fleet.nominate(pod, pod.nominatedNodeName);
  }

  return ({ type, current }) => {
    const { fields } = current;
    if (type === 'DELETED' || hasEnded(fields['status.phase'])) {
      gone(current.key);
      return;
    }
    const nodeName = fields['spec.nodeName'] ?? '';
    if (nodeName !== '') placed(current, nodeName);
    else if (fields['spec.schedulerName'] === SCHEDULER_NAME) pending(current);
  };
}

function createNodeHandler(
  deps: FollowDeps,
  unplaced: UnplacedPods,
  onPod: (change: CacheChange) => void,
): (change: CacheChange) => void {
  const { fleet, pods, onChange } = deps;
  const known = new Map<string, NodeFacts>();
  return ({ type, current }) => {
    if (type === 'DELETED') {
      known.delete(current.name);
      for (const { key } of fleet.removeNode(current.name)) {
        const pod = pods.get(key);
        if (pod !== undefined && pod.fields['spec.nodeName'] === current.name) {
          unplaced.put(key, current.name);
        }
      }
      // Topology spread and affinity are relative to the existing nodes.
      onChange('podGone');
      return;
    }
    const before = known.get(current.name);
    const facts = readNode(typed<Node>(current.object()), fleet.labelKeys);
    known.set(current.name, facts);
    fleet.setNode(facts);
    if (before !== undefined) {
      onChange(...nodeChanges(before, facts));
      return;
    }
    for (const key of unplaced.take(current.name)) {
      const pod = pods.get(key);
      if (pod !== undefined) onPod({ type: 'MODIFIED', current: pod });
    }
    onChange('nodeAdded');
  };
}

export function followFleet(deps: FollowDeps): Following {
  const unplaced = createUnplacedPods();
  const onPod = createPodHandler(deps, unplaced);
  const onNode = createNodeHandler(deps, unplaced, onPod);
  /** Changes that wait until the initial state has been read; absent afterwards. */
  let early: (() => void)[] | undefined = [];
  const inTurn =
    (take: (change: CacheChange) => void) =>
    (change: CacheChange): void => {
      const taken = (): void => {
        try {
          take(change);
        } catch (thrown) {
          deps.onError(asError(thrown));
        }
      };
      if (early === undefined) taken();
      else early.push(taken);
    };
  const handles: WatchHandle[] = [deps.nodes.follow(inTurn(onNode)), deps.pods.follow(inTurn(onPod))];

  async function load(): Promise<void> {
    const changes = early ?? [];
    // The list grows during the iteration.
    for (let index = 0; index < changes.length; index += 1) {
      changes[index]?.();
      if (index % IN_A_GO === IN_A_GO - 1) await deps.pause();
    }
    early = undefined;
  }

  return {
    loaded: load(),
    close() {
      for (const handle of handles) handle.close();
    },
  };
}
