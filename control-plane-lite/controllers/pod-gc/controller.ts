/** Removes pods that nobody else will: of nodes that are gone or out of service, deleted before they had a node, and
 *  the oldest of too many that ended. Source: upstream's pod garbage collector, release 1.24. */
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { parseTime } from '#api/meta/time.ts';
import type { Node, Pod } from '#api/schema/gen/core-v1.ts';
import type { CachedObject } from '../../cache/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../caller.ts';
import { unlessGone } from '../unless-gone.ts';
import { findResource, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { refOf } from '../workloads-kit/family.ts';
import { type CollectablePod, isAbandoned, type PodNode, tooManyFinished } from './decide.ts';

export interface PodGcOptions {
  /** Pods at their end that may stay; 0: any number. */
  readonly mostFinished: number;
}

interface Known extends CollectablePod {
  readonly cached: CachedObject;
}

/** How long a node has to be gone, in ms: it may only be registered anew. */
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

/** With the gate NodeOutOfServiceVolumeDetach, a taint says that a node that is not ready will not come back soon. */
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

/** Works until the signal fires. */
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
    log.info({ pod: key, reason }, 'Pod is removed, for nobody else would');
    const request = { dryRun: false, gracePeriodSeconds: 0, preconditions: { uid } };
    await unlessGone(() => verbs.delete(refOf(podResource, cached), request, caller));
  };

  const queue = createWorkQueue({
    clock,
    async work(key) {
      if (key === FINISHED) {
        for (const pod of tooManyFinished(pods.values(), mostFinished)) await remove(pod, 'too many ended');
        return undefined;
      }
      const pod = pods.get(key);
      if (pod !== undefined && isAbandoned(pod, (name) => nodes.get(name))) {
        await remove(pod, pod.nodeName === '' ? 'it never had a node' : 'its node is gone or out of service');
      }
      return undefined;
    },
    onError: (key, err) => log.warn({ err, key }, 'Pod could not be removed; it is tried again'),
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
      // Where it came, or can be used again, nobody is left alone.
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
