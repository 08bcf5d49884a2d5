/** A node and the sums of what its pods use, kept as pods come and go. */
import type { Taint } from '#api/schema/gen/core-v1.ts';
import { NOTHING } from './amounts.ts';
import type { Amounts, NodeInfo, PodInfo } from './model.ts';
import type { NodeFacts } from './node-facts.ts';

function count(map: Map<string, number>, key: string, by: number): void {
  const left = (map.get(key) ?? 0) + by;
  if (left === 0) map.delete(key);
  else map.set(key, left);
}

/** A class, because there are many and decisions read their members most. */
export class FleetNode implements NodeInfo {
  readonly name: string;
  labels: Readonly<Record<string, string>> = {};
  taints: readonly Taint[] = [];
  unschedulable = false;
  allocatable: Amounts = NOTHING;
  maxPods = 0;
  images: ReadonlyMap<string, number> = new Map();
  zone = '';
  readonly pods: Map<string, PodInfo> = new Map();
  usedMilliCpu = 0;
  usedMemoryBytes = 0;
  usedEphemeralBytes = 0;
  readonly usedScalars: Map<string, number> = new Map();
  likelyMilliCpu = 0;
  likelyMemoryBytes = 0;
  readonly ports: Map<string, number> = new Map();
  readonly claims: Map<string, number> = new Map();

  constructor(facts: NodeFacts) {
    this.name = facts.name;
    this.set(facts);
  }

  set(facts: NodeFacts): void {
    this.labels = facts.labels;
    this.taints = facts.taints;
    this.unschedulable = facts.unschedulable;
    this.allocatable = facts.allocatable;
    this.maxPods = facts.maxPods;
    this.images = facts.images;
    this.zone = facts.zone;
  }

  add(pod: PodInfo): void {
    this.pods.set(pod.key, pod);
    this.#use(pod, 1);
  }

  remove(pod: PodInfo): void {
    this.pods.delete(pod.key);
    this.#use(pod, -1);
  }

  #use({ shape }: PodInfo, sign: 1 | -1): void {
    const { requests } = shape;
    this.usedMilliCpu += sign * requests.milliCpu;
    this.usedMemoryBytes += sign * requests.memoryBytes;
    this.usedEphemeralBytes += sign * requests.ephemeralBytes;
    for (const [name, amount] of requests.scalars) count(this.usedScalars, name, sign * amount);
    this.likelyMilliCpu += sign * shape.likelyMilliCpu;
    this.likelyMemoryBytes += sign * shape.likelyMemoryBytes;
    for (const { address, port } of shape.hostPorts) count(this.ports, `${address} ${port}`, sign);
    for (const claim of shape.claims) count(this.claims, `${shape.namespace}/${claim}`, sign);
  }
}
