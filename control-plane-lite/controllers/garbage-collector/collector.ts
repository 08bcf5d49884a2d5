/** Garbage collector: deletes objects whose owners no longer exist, and completes orphaning and foreground
 *  deletion. Level-triggered: every run starts from the current graph. */

import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import type { Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../verbs/decide-deletion.ts';
import { type FollowAll, followAll, isCollectable } from '../follow-all.ts';
import { decideCollection, type OwnerState } from './decide.ts';
import { executeAction } from './execute.ts';
import { createOwnerGraph, type Node, type OwnerGraph } from './graph.ts';

export interface CollectorDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
}

const CONCURRENCY = 8;

/** Owners that want the object to outlive them. */
function orphaningOwners(graph: OwnerGraph, { owners }: Node): readonly string[] {
  return owners.flatMap(({ uid }) => {
    const owner = graph.get(uid);
    return owner?.deleting === true && owner.finalizers.includes(ORPHAN_FINALIZER) ? [uid] : [];
  });
}

function ownerState(
  { registry }: CollectorDeps,
  graph: OwnerGraph,
  following: FollowAll,
  node: Node,
  owner: OwnerReference,
): OwnerState {
  const known = graph.get(owner.uid);
  if (known !== undefined) {
    // An owner in another namespace does not count.
    if (known.resource.info.namespaced && known.namespace !== node.namespace) return 'gone';
    const waits = known.deleting && known.finalizers.includes(FOREGROUND_FINALIZER);
    return waits && owner.blockOwnerDeletion === true ? 'waiting' : 'there';
  }
  const resource = registry.findKind(owner.apiVersion, owner.kind);
  return resource !== undefined && following.follows(resource.storage.prefix) ? 'gone' : 'unknown';
}

/** Runs until the signal is aborted. */
export async function runGarbageCollector(deps: CollectorDeps, signal: AbortSignal): Promise<void> {
  const graph = createOwnerGraph();
  const caller = controllerCaller('garbage-collector', signal);
  const queue = createWorkQueue({
    clock: deps.clock,
    concurrency: CONCURRENCY,
    work: visit,
    onError: (uid, err) => deps.log.warn({ err, uid }, 'Failed to garbage-collect object; retrying'),
  });
  const following = followAll({
    registry: deps.registry,
    cache: deps.cache,
    wanted: isCollectable,
    onChange: (resource, change) => {
      for (const uid of graph.apply(resource, change)) queue.add(uid);
    },
    onForget: (prefix) => graph.forget(prefix),
  });

  async function visit(uid: string): Promise<undefined> {
    await deps.cache.waitForNewest();
    const node = graph.get(uid);
    if (node === undefined) return;
    const surroundings = {
      dependents: graph.dependentsOf(uid),
      dependentsOf: (each: string) => graph.dependentsOf(each),
      ownerState: (owner: OwnerReference) => ownerState(deps, graph, following, node, owner),
    };
    for (const action of decideCollection(node, surroundings, orphaningOwners(graph, node))) {
      await executeAction({ verbs: deps.verbs, caller, revisit: (each) => queue.add(each) }, node, action);
    }
  }

  await queue.run(signal);
  following.close();
}
