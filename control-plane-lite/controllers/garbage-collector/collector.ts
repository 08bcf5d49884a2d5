/** Garbage collector: deletes objects whose owners no longer exist, and completes orphaning and foreground
 *  deletion. Level-triggered: every run starts from the current graph. */

import type { OwnerReference } from '#api/gen/meta-v1.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../../verbs/decide-deletion.ts';
import { type FollowAll, followAll, isCollectable } from '../follow-all.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { decideCollection, type OwnerState } from './decide.ts';
import { executeAction } from './execute.ts';
import { createOwnerGraph, type Node, type OwnerGraph } from './graph.ts';

const CONCURRENCY = 8;

/** Owners that want the object to outlive them. */
function orphaningOwners(graph: OwnerGraph, { owners }: Node): readonly string[] {
  return owners.flatMap(({ uid }) => {
    const owner = graph.get(uid);
    return owner?.deleting === true && owner.finalizers.includes(ORPHAN_FINALIZER) ? [uid] : [];
  });
}

function ownerState(
  registry: Pick<ResourceRegistry, 'findKind'>,
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

export const garbageCollector: Controller = defineController({
  name: 'garbagecollector',
  identity: 'garbage-collector',
  watches: [],
  everyKind: {
    reason: 'objects of every kind have owners and dependents',
    writes: { delete: true, update: ['metadata.ownerReferences', 'metadata.finalizers'] },
  },
  writes: {},
  ownFieldManager: true,
  workers: CONCURRENCY,
  start(context) {
    const { cache, client, queue, log } = context;
    const registry = context.allKinds();
    const graph = createOwnerGraph();
    const following = followAll({
      registry,
      cache,
      wanted: isCollectable,
      onChange: (resource, change) => {
        for (const uid of graph.apply(resource, change)) queue.add(uid);
      },
      onForget: (prefix) => graph.forget(prefix),
    });
    const execution = { client, revisit: (uid: string) => queue.add(uid) };
    return {
      async reconcile(uid) {
        await cache.waitForNewest();
        const node = graph.get(uid);
        if (node === undefined) return undefined;
        const view = {
          dependents: graph.dependentsOf(uid),
          dependentsOf: (each: string) => graph.dependentsOf(each),
          ownerState: (owner: OwnerReference) => ownerState(registry, graph, following, node, owner),
        };
        for (const action of decideCollection(node, view, orphaningOwners(graph, node))) {
          await executeAction(execution, node, action);
        }
        return undefined;
      },
      follows: [following],
      onError: (uid, err) => log.warn({ err, uid }, 'Failed to garbage-collect object; retrying'),
    };
  },
});
