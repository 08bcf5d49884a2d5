/** Node lifecycle controller: detects nodes without heartbeats, updates their conditions and taints, and
 *  evicts pods that do not tolerate the taints. Source: upstream's node lifecycle controller and taint
 *  manager, release 1.24. */

import { isDeepStrictEqual } from 'node:util';
import type { Node, Pod } from '#api/gen/core-v1.ts';
import { createTokenBucket, type TokenBucket } from '#api/kit/token-bucket.ts';
import { formatTime } from '#api/meta/time.ts';
import type { Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import type { NodeHealthLimits } from '../skeleton/settings.ts';
import { type ControllerClient, refOf } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import { createKeyQueue } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { leavesAtMs } from './eviction.ts';
import { type Fleet, type FleetNode, followFleet } from './fleet.ts';
import { lostConditions, silenceLeftMs } from './health.ts';
import { followNodePods, type NodePod, type NodePods } from './node-pods.ts';
import { decideTaints, isInTrouble } from './taints.ts';
import { evictionRates } from './zones.ts';

interface Parts {
  readonly deps: WorkloadDeps;
  readonly limits: NodeHealthLimits;
  readonly nodeResource: Resource;
  readonly podResource: Resource;
  readonly client: ControllerClient;
  readonly fleet: Fleet;
  readonly pods: NodePods;
  /** Whether the next node of the zone may be evicted now. */
  readonly mayEvictNode: (zone: string) => boolean;
}

/** Interval for a node whose pods could not be evicted yet, in ms. */
const EVICTION_RECHECK_MS = 5000;
/** Pods and nodes processed at a time. */
const CONCURRENCY = 8;
/** A key that cannot be a node's name. */
const EVERY_UNREADY = '';

const isEvicted = ({ node }: FleetNode): boolean =>
  node.spec?.taints?.some(({ effect }) => effect === 'NoExecute') === true;

async function writeLostConditions(
  { deps, client, nodeResource }: Parts,
  { cached, node }: FleetNode,
): Promise<boolean> {
  const now = formatTime(deps.clock.now());
  if (lostConditions(node, now) === undefined) return false;
  const ref = refOf(nodeResource, cached);
  await changeObject(
    client,
    ref,
    node.metadata?.uid ?? '',
    (draft) => {
      const live = typed<Node>(draft);
      draft['status'] = { ...live.status, conditions: lostConditions(live, now) ?? live.status?.conditions };
    },
    'status',
  );
  const message = `Node ${cached.name} status is now: NodeNotReady`;
  client.events.record(cached.object(), 'Normal', 'NodeNotReady', message);
  return true;
}

/** Services must not route to pods of unknown state. */
async function markPodUnready({ deps, client, podResource }: Parts, pod: NodePod): Promise<void> {
  const now = formatTime(deps.clock.now());
  await changeObject(
    client,
    refOf(podResource, pod.cached),
    pod.uid,
    (draft) => {
      const { status } = typed<Pod>(draft);
      const conditions = status?.conditions?.map((condition) =>
        condition.type === 'Ready' && condition.status === 'True'
          ? { ...condition, status: 'False', lastTransitionTime: now }
          : condition,
      );
      draft['status'] = { ...status, conditions };
    },
    'status',
  );
  client.events.record(pod.cached.object(), 'Warning', 'NodeNotReady', 'Node is not ready');
}

/** Returns whether the node's pods should be evicted but may not be yet. */
async function reconcileTaints(parts: Parts, found: FleetNode): Promise<boolean> {
  const { deps, client, nodeResource, fleet } = parts;
  const rates = evictionRates(fleet.zones());
  const anyZone = [...rates.values()].some((rate) => rate > 0);
  const mayEvict =
    !isInTrouble(found.node) || (anyZone && (isEvicted(found) || parts.mayEvictNode(found.zone)));
  const prefix = `node.${deps.vocabulary.domain}`;
  const rules = { prefix, mayEvict, now: formatTime(deps.clock.now()) };
  if (decideTaints(found.node, rules) !== undefined) {
    await changeObject(client, refOf(nodeResource, found.cached), found.node.metadata?.uid ?? '', (draft) => {
      const taints = decideTaints(typed<Node>(draft), rules);
      if (taints !== undefined) draft['spec'] = { ...typed<Node>(draft).spec, taints };
    });
  }
  return !mayEvict;
}

async function reconcileNode(parts: Parts, name: string): Promise<number | undefined> {
  const { fleet, deps, limits, pods } = parts;
  const found = fleet.get(name);
  const last = fleet.lastSign(name);
  if (found === undefined || last === undefined) return undefined;
  const leftMs = silenceLeftMs(found.node, last, deps.clock.monotonic(), limits);
  // The write arrives as a change, which is processed again.
  if (leftMs <= 0 && (await writeLostConditions(parts, found))) return undefined;
  const held = await reconcileTaints(parts, found);
  if (!found.ready) {
    await Promise.all(
      pods
        .on(name)
        .filter(({ ready }) => ready)
        .map((pod) => markPodUnready(parts, pod)),
    );
  }
  const dueMs = [...(leftMs > 0 ? [leftMs] : []), ...(held ? [EVICTION_RECHECK_MS] : [])];
  return dueMs.length === 0 ? undefined : Math.min(...dueMs);
}

async function reconcilePod(
  { fleet, deps, client, podResource, pods }: Parts,
  key: string,
): Promise<number | undefined> {
  const pod = pods.get(key);
  if (pod === undefined || pod.deleting) return undefined;
  const taints = fleet.get(pod.nodeName)?.node.spec?.taints ?? [];
  const nowMs = deps.clock.now();
  const atMs = leavesAtMs(taints, pod.tolerations, nowMs);
  if (atMs === undefined) return undefined;
  if (atMs > nowMs) return atMs - nowMs;
  const message = `Marking for deletion Pod ${key}`;
  client.events.record(pod.cached.object(), 'Normal', 'TaintManagerEviction', message);
  const request = { dryRun: false, preconditions: { uid: pod.uid } };
  await unlessGone(() =>
    deps.verbs.delete({ ...request, ref: refOf(podResource, pod.cached), caller: client.caller }),
  );
  return undefined;
}

/** One token bucket per zone with the zone's current rate. */
function createZoneLimits(deps: WorkloadDeps, fleet: () => Fleet): Parts['mayEvictNode'] {
  const buckets = new Map<string, { readonly rate: number; readonly bucket: TokenBucket }>();
  return (zone) => {
    const rate = evictionRates(fleet().zones()).get(zone) ?? 0;
    if (rate === 0) return false;
    const known = buckets.get(zone);
    const bucket =
      known?.rate === rate ? known.bucket : createTokenBucket(deps.clock, { ratePerSecond: rate, burst: 1 });
    buckets.set(zone, { rate, bucket });
    return bucket.tryTake();
  };
}

/** Reports whether rates have changed since the last call: one unhealthy node more or less rarely changes
 *  them. */
function createRateMemory(): (zones: ReturnType<Fleet['zones']>) => boolean {
  let last: ReturnType<typeof evictionRates> = new Map();
  return (zones) => {
    const rates = evictionRates(zones);
    const changed = !isDeepStrictEqual(rates, last);
    last = rates;
    return changed;
  };
}

export const nodeLifecycleController: Controller = defineController({
  name: 'nodelifecycle',
  identity: 'node-controller',
  watches: ['nodes', 'pods', 'leases'],
  writes: {
    nodes: { update: ['spec.taints'], status: ['status.conditions'] },
    pods: { delete: true, status: ['status.conditions'] },
  },
  recordsEvents: true,
  workers: CONCURRENCY,
  start(context) {
    const { clock, vocabulary, client, queue: nodeQueue } = context;
    const podQueue = createKeyQueue(context, (key) => reconcilePod(parts, key), { workers: CONCURRENCY });
    // Followers are called for existing nodes before the fleet itself exists.
    const ratesChanged = createRateMemory();
    const pods = followNodePods(context.cacheOf('pods'), ({ key }) => podQueue.add(key));
    const fleet: Fleet = followFleet(
      {
        nodes: context.cacheOf('nodes'),
        leases: context.cacheOf('leases'),
        leaseNamespace: vocabulary.nodeLeaseNamespace,
        topology: `topology.${vocabulary.domain}`,
        nowMs: () => clock.monotonic(),
      },
      {
        onNode: (name) => nodeQueue.add(name),
        onTaints: (name) => pods.on(name).forEach(({ key }) => podQueue.add(key)),
        onReadiness: (zones) => {
          if (ratesChanged(zones)) nodeQueue.add(EVERY_UNREADY);
        },
      },
    );
    const parts: Parts = {
      deps: context,
      limits: context.settings.nodeHealth,
      nodeResource: context.resourceOf('nodes'),
      podResource: context.resourceOf('pods'),
      client,
      fleet,
      pods,
      mayEvictNode: createZoneLimits(context, () => fleet),
    };
    return {
      async reconcile(name) {
        if (name !== EVERY_UNREADY) return reconcileNode(parts, name);
        for (const unready of fleet.unready()) nodeQueue.add(unready);
        return undefined;
      },
      follows: [pods, fleet],
      background: [(signal) => podQueue.run(signal)],
    };
  },
});
