/** All nodes with their pods, updated change by change: the state that decisions read. Pods are also counted
 *  by shape and node, so that rules about other pods need not visit each of them. */
import type { Requirement } from '#api/meta/selectors.ts';
import { FleetNode } from './fleet-node.ts';
import type { NodeInfo, PodInfo, PodShape, SchedulerLabelKeys } from './model.ts';
import type { NodeFacts } from './node-facts.ts';
import { createNominations } from './nominations.ts';
import { createGroups, type PodGroup } from './pod-groups.ts';
import type { Volumes } from './volumes.ts';

/** Further inputs of decisions. */
export interface Surroundings {
  readonly labelKeys: SchedulerLabelKeys;
  /** Feature gates that are on. */
  readonly gates: ReadonlySet<string>;
  readonly volumes: Volumes;
  readonly namespaceLabels: (namespace: string) => Readonly<Record<string, string>>;
  /** Common selector of the pod's services and owner; absent if there is none. */
  readonly spreadSelector: (shape: PodShape) => readonly Requirement[] | undefined;
}

/** As decisions see it. */
export interface FleetView extends Surroundings {
  /** In the order in which they are looked at: the zones take turns, so that a sample has nodes of each. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  readonly groups: Iterable<PodGroup>;
  /** Shapes of pods with affinity or anti-affinity terms. */
  readonly groupsWithPodTerms: Iterable<PodGroup>;
  /** Nodes that have the image. */
  imageNodes(image: string): number;
  /** Lowest priority of all pods on nodes; above every priority if there are no pods. */
  readonly lowestPriority: number;
  /** Pods nominated to the node. */
  nominated(nodeName: string): Iterable<PodInfo>;
}

export interface Fleet extends FleetView {
  setNode(facts: NodeFacts): void;
  /** Returns the pods that were on it; they are no longer known. */
  removeNode(name: string): readonly PodInfo[];
  /** Adds a pod to a known node; replaces an earlier state of the pod. */
  addPod(pod: PodInfo, nodeName: string): void;
  /** Returns the pod and its node, if it was on one. */
  removePod(key: string): { readonly pod: PodInfo; readonly nodeName: string } | undefined;
  /** Where the pod is, assumed or bound. */
  nodeOf(key: string): string | undefined;
  nominate(pod: PodInfo, nodeName: string): void;
  withdraw(key: string): void;
}

/** By name, the zones taking turns. */
function ordered(nodes: Iterable<NodeInfo>): readonly NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const zone = zones.get(node.zone);
    if (zone === undefined) zones.set(node.zone, [node]);
    else zone.push(node);
  }
  const lists = [...zones.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, list]) => list);
  const result: NodeInfo[] = [];
  const longest = lists.reduce((most, { length }) => Math.max(most, length), 0);
  for (let index = 0; index < longest; index += 1) {
    for (const list of lists) {
      const node = list[index];
      if (node !== undefined) result.push(node);
    }
  }
  return result;
}

/** Number of nodes by image. */
function createImageCounts(): {
  nodes(image: string): number;
  count(images: ReadonlyMap<string, number>, by: 1 | -1): void;
} {
  const counts = new Map<string, number>();
  return {
    nodes: (image) => counts.get(image) ?? 0,
    count(images, by) {
      for (const image of images.keys()) {
        const left = (counts.get(image) ?? 0) + by;
        if (left === 0) counts.delete(image);
        else counts.set(image, left);
      }
    },
  };
}

export function createFleet(surroundings: Surroundings): Fleet {
  const nodes = new Map<string, FleetNode>();
  const places = new Map<string, FleetNode>();
  const images = createImageCounts();
  const groups = createGroups();
  const nominations = createNominations();
  let order: readonly NodeInfo[] | undefined;

  function removePod(key: string): ReturnType<Fleet['removePod']> {
    const node = places.get(key);
    const pod = node?.pods.get(key);
    if (node === undefined || pod === undefined) return undefined;
    places.delete(key);
    node.remove(pod);
    groups.count(pod, node, -1);
    return { pod, nodeName: node.name };
  }

  return {
    ...surroundings,
    get nodes() {
      order ??= ordered(nodes.values());
      return order;
    },
    node: (name) => nodes.get(name),
    get groups() {
      return groups.all.values();
    },
    get groupsWithPodTerms() {
      return groups.withPodTerms.values();
    },
    get lowestPriority() {
      return groups.lowestPriority();
    },
    imageNodes: (image) => images.nodes(image),
    nominated: (nodeName) => nominations.of(nodeName),
    setNode(facts) {
      images.count(facts.images, 1);
      const known = nodes.get(facts.name);
      if (known === undefined || known.zone !== facts.zone) order = undefined;
      if (known === undefined) {
        nodes.set(facts.name, new FleetNode(facts));
      } else {
        images.count(known.images, -1);
        known.set(facts);
      }
    },
    removeNode(name) {
      const node = nodes.get(name);
      if (node === undefined) return [];
      const pods = [...node.pods.values()];
      for (const { key } of pods) removePod(key);
      images.count(node.images, -1);
      nodes.delete(name);
      order = undefined;
      return pods;
    },
    addPod(pod, nodeName) {
      const node = nodes.get(nodeName);
      const known = node?.pods.get(pod.key);
      if (known?.shape === pod.shape && known.terminating === pod.terminating) {
        node?.pods.set(pod.key, pod);
        return;
      }
      removePod(pod.key);
      if (node === undefined) return;
      places.set(pod.key, node);
      node.add(pod);
      groups.count(pod, node, 1);
    },
    removePod,
    nodeOf: (key) => places.get(key)?.name,
    nominate: (pod, nodeName) => nominations.set(pod, nodeName),
    withdraw: (key) => nominations.remove(key),
  };
}
