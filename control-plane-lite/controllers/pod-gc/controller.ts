/** Pod garbage collector: deletes pods of missing or out-of-service nodes, terminating pods that were never
 *  scheduled, and the oldest terminated pods above the threshold. Source: upstream's pod garbage collector,
 *  release 1.24. */

import type { Node, Pod } from '#api/gen/core-v1.ts';
import { parseTime } from '#api/meta/time.ts';
import type { CachedObject, WatchHandle } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import { type CollectablePod, isAbandoned, type PodNode, tooManyFinished } from './decide.ts';

interface Known extends CollectablePod {
  readonly cached: CachedObject;
}

/** How long a node must be missing, in ms: it may be re-registered. */
const QUARANTINE_MS = 40_000;
const FINISHED = ' finished';

const read = (cached: CachedObject): Known => {
  const { metadata = {}, spec, status } = typed<Pod>(cached.object());
  return {
    key: cached.key,
    uid: metadata.uid ?? '',
    nodeName: spec?.nodeName ?? '',
    finished: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    deleting: metadata.deletionTimestamp !== undefined,
    createdMs: metadata.creationTimestamp === undefined ? 0 : parseTime(metadata.creationTimestamp),
    cached,
  };
};

/** With the gate NodeOutOfServiceVolumeDetach, a taint marks a not-ready node as out of service. */
function nodeReader({ gates, vocabulary }: WorkloadDeps): (cached: CachedObject) => PodNode {
  const trusts = gates.has('NodeOutOfServiceVolumeDetach');
  const taint = `node.${vocabulary.domain}/out-of-service`;
  return (cached) => {
    if (!trusts) return { outOfService: false };
    const { spec, status } = typed<Node>(cached.object());
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
    return { outOfService: !ready && (spec?.taints ?? []).some(({ key }) => key === taint) };
  };
}

interface Parts {
  readonly context: ControllerContext;
  readonly pods: ReadonlyMap<string, Known>;
  readonly nodes: ReadonlyMap<string, PodNode>;
}

async function remove({ context }: Parts, { uid, cached, key }: Known, reason: string): Promise<void> {
  const { log, client } = context;
  log.info({ pod: key, reason }, 'Garbage-collecting pod');
  const request = { dryRun: false, gracePeriodSeconds: 0, preconditions: { uid } };
  await unlessGone(() =>
    client.verbs.delete({
      ref: refOf(context.resourceOf('pods'), cached),
      ...request,
      caller: client.caller,
    }),
  );
}

async function reconcile(parts: Parts, key: string): Promise<undefined> {
  const { pods, nodes, context } = parts;
  if (key === FINISHED) {
    for (const pod of tooManyFinished(pods.values(), context.settings.terminatedPods))
      await remove(parts, pod, 'more terminated pods than the threshold');
    return;
  }
  const pod = pods.get(key);
  if (pod === undefined || !isAbandoned(pod, (name) => nodes.get(name))) return;
  const reason =
    pod.nodeName === '' ? 'terminating and unscheduled' : 'its node is missing or out of service';
  await remove(parts, pod, reason);
}

/** Follows pods and nodes, and queues pods that may be garbage. */
function follow(
  context: ControllerContext,
  pods: Map<string, Known>,
  nodes: Map<string, PodNode>,
): readonly WatchHandle[] {
  const { queue, settings } = context;
  const readNode = nodeReader(context);
  let finished = 0;
  function inspect(pod: Known): void {
    if (!isAbandoned(pod, (name) => nodes.get(name))) return;
    if (pod.nodeName === '' || nodes.has(pod.nodeName)) queue.add(pod.key);
    else queue.addAfter(pod.key, QUARANTINE_MS);
  }
  return [
    context.cacheOf('nodes').follow(({ type, current }) => {
      const was = nodes.get(current.name);
      const node = type === 'DELETED' ? undefined : readNode(current);
      if (node === undefined) nodes.delete(current.name);
      else nodes.set(current.name, node);
      // A node that was added, or is in service again, has no orphaned pods.
      if (node !== undefined && (!node.outOfService || was?.outOfService === true)) return;
      for (const pod of pods.values()) if (pod.nodeName === current.name) inspect(pod);
    }),
    context.cacheOf('pods').follow(({ type, current }) => {
      const before = pods.get(current.key);
      if (before?.finished === true) finished -= 1;
      pods.delete(current.key);
      if (type === 'DELETED') return;
      const pod = read(current);
      pods.set(current.key, pod);
      if (pod.finished) finished += 1;
      const { terminatedPods } = settings;
      if (terminatedPods > 0 && finished > terminatedPods) queue.addAfter(FINISHED, 1000);
      inspect(pod);
    }),
  ];
}

export const podGcController: Controller = defineController({
  name: 'podgc',
  identity: 'pod-garbage-collector',
  watches: ['pods', 'nodes'],
  writes: { pods: { delete: true } },
  workers: 4,
  start(context) {
    const pods = new Map<string, Known>();
    const nodes = new Map<string, PodNode>();
    const parts: Parts = { context, pods, nodes };
    return {
      reconcile: (key) => reconcile(parts, key),
      follows: follow(context, pods, nodes),
      onError: (key, err) => context.log.warn({ err, key }, 'Failed to garbage-collect pod; retrying'),
    };
  },
});
