/** A node and the sums of its pods' requests, updated as pods are added and removed. */

import type { Taint } from '#api/gen/core-v1.ts';
import type { Int64 } from '#api/kit/int64.ts';
import { addInt64, subtractInt64 } from '#api/kit/int64.ts';
import { NOTHING } from './amounts.ts';
import type { Amounts, NodeInfo, PodInfo } from './model.ts';
import type { NodeFacts } from './node-facts.ts';

function count(map: Map<string, number>, key: string, by: number): void {
  const left = (map.get(key) ?? 0) + by;
  if (left === 0) map.delete(key);
  else map.set(key, left);
}

/** A class for a stable shape: decisions read the members of many instances. */
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
  usedMilliCpu: Int64 = 0;
  usedMemoryBytes: Int64 = 0;
  usedEphemeralBytes: Int64 = 0;
  readonly usedScalars: Map<string, Int64> = new Map();
  likelyMilliCpu: Int64 = 0;
  likelyMemoryBytes: Int64 = 0;
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
    const change = sign === 1 ? addInt64 : subtractInt64;
    this.usedMilliCpu = change(this.usedMilliCpu, requests.milliCpu);
    this.usedMemoryBytes = change(this.usedMemoryBytes, requests.memoryBytes);
    this.usedEphemeralBytes = change(this.usedEphemeralBytes, requests.ephemeralBytes);
    for (const [name, amount] of requests.scalars) {
      const left = change(this.usedScalars.get(name) ?? 0, amount);
      if (left === 0) this.usedScalars.delete(name);
      else this.usedScalars.set(name, left);
    }
    this.likelyMilliCpu = change(this.likelyMilliCpu, shape.likelyMilliCpu);
    this.likelyMemoryBytes = change(this.likelyMemoryBytes, shape.likelyMemoryBytes);
    for (const { address, port } of shape.hostPorts) count(this.ports, `${address} ${port}`, sign);
    for (const claim of shape.claims) count(this.claims, `${shape.namespace}/${claim}`, sign);
  }
}
