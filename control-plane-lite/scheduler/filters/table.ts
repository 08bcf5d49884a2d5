/** All filters in evaluation order: the first that rejects a node gives the reason. */
import { attachLimits } from './attach-limits.ts';
import type { Filter } from './filter.ts';
import { hostPorts } from './host-ports.ts';
import { nodeAffinity } from './node-affinity.ts';
import { nodeName } from './node-name.ts';
import { nodeUnschedulable } from './node-unschedulable.ts';
import { podAffinity } from './pod-affinity.ts';
import { resources } from './resources.ts';
import { singlePodClaims } from './single-pod-claims.ts';
import { taints } from './taints.ts';
import { topologySpread } from './topology-spread.ts';
import { volumeLimits } from './volume-limits.ts';
import { volumes } from './volumes.ts';

/** As upstream has them, release 1.24. */
export const FILTERS: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taints,
  nodeAffinity,
  hostPorts,
  resources,
  singlePodClaims,
  ...attachLimits,
  volumeLimits,
  volumes,
  topologySpread,
  podAffinity,
];
