/** Pod garbage collector: deletes pods of missing or out-of-service nodes, terminating pods that were never
 *  scheduled, and the oldest terminated pods above the threshold. Source: upstream's pod garbage collector,
 *  release 1.24. */

import type { Node, Pod } from '#api/gen/core-v1.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { parseTime } from '#api/meta/time.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { type CollectablePod, isAbandoned, type PodNode, tooManyFinished } from './decide.ts';

export interface PodGcOptions {
  /** Threshold of terminated pods; 0: unlimited. */
  readonly mostFinished: number;
}

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

/** Runs until the signal is aborted. */
export async function runPodGc(
  deps: WorkloadDeps,
  signal: AbortSignal,
  { mostFinished }: PodGcOptions,
): Promise<void> {
  const { cache, clock, verbs, log } = deps;
  const podResource = findResource(deps, 'v1', 'pods');
  const nodeResource = findResource(deps, 'v1', 'nodes');
  if (podResource === undefined || nodeResource === undefined) return;
  const caller = controllerCaller('pod-garbage-collector', signal);
  const pods = new Map<string, Known>();
  const nodes = new Map<string, PodNode>();
  const readNode = nodeReader(deps);
  let finished = 0;

  const remove = async ({ uid, cached, key }: Known, reason: string): Promise<void> => {
    log.info({ pod: key, reason }, 'Garbage-collecting pod');
    const request = { dryRun: false, gracePeriodSeconds: 0, preconditions: { uid } };
    await unlessGone(() => verbs.delete({ ...request, ref: refOf(podResource, cached), caller }));
  };

  const queue = createWorkQueue({
    clock,
    async work(key) {
      if (key === FINISHED) {
        for (const pod of tooManyFinished(pods.values(), mostFinished))
          await remove(pod, 'more terminated pods than the threshold');
        return undefined;
      }
      const pod = pods.get(key);
      if (pod !== undefined && isAbandoned(pod, (name) => nodes.get(name))) {
        await remove(
          pod,
          pod.nodeName === '' ? 'terminating and unscheduled' : 'its node is missing or out of service',
        );
      }
      return undefined;
    },
    onError: (key, err) => log.warn({ err, key }, 'Failed to garbage-collect pod; retrying'),
  });

  function look(pod: Known): void {
    if (!isAbandoned(pod, (name) => nodes.get(name))) return;
    if (pod.nodeName === '' || nodes.has(pod.nodeName)) queue.add(pod.key);
    else queue.addAfter(pod.key, QUARANTINE_MS);
  }

  const following = [
    cache.resource(nodeResource.storage).follow(({ type, current }) => {
      const was = nodes.get(current.name);
      const node = type === 'DELETED' ? undefined : readNode(current);
      if (node === undefined) nodes.delete(current.name);
      else nodes.set(current.name, node);
      // A node that was added, or is in service again, has no orphaned pods.
      if (node !== undefined && (!node.outOfService || was?.outOfService === true)) return;
      for (const pod of pods.values()) if (pod.nodeName === current.name) look(pod);
    }),
    cache.resource(podResource.storage).follow(({ type, current }) => {
      const before = pods.get(current.key);
      if (before?.finished === true) finished -= 1;
      pods.delete(current.key);
      if (type === 'DELETED') return;
      const pod = read(current);
      pods.set(current.key, pod);
      if (pod.finished) finished += 1;
      if (mostFinished > 0 && finished > mostFinished) queue.addAfter(FINISHED, 1000);
      look(pod);
    }),
  ];
  await queue.run(signal);
  for (const each of following) each.close();
}
