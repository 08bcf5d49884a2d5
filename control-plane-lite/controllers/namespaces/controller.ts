/** Namespace controller: deletes the content of terminating namespaces, then finalizes them. Source:
 *  namespace deletion, document 1 §4.1; upstream's namespace controller and its conditions. */

import type { Namespace } from '#api/gen/core-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createWorkQueue } from '#api/kit/work-queue.ts';
import { formatTime } from '#api/meta/time.ts';
import type { Cache } from '../../cache/contract.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import type { Caller, Verbs } from '../../verbs/contract.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { followAll, isCollectable } from '../follow-all.ts';
import {
  deletionConditions,
  type Emptied,
  mergeConditions,
  nameOf,
  type OtherContent,
  type Remains,
} from './conditions.ts';

export interface NamespaceControllerDeps {
  readonly registry: ResourceRegistry;
  readonly cache: Cache;
  readonly verbs: Verbs;
  readonly clock: Clock;
  readonly log: Logger;
  /** This controller's finalizer in `spec.finalizers`. */
  readonly finalizer: string;
  /** Absent: there are no aggregated servers. */
  readonly others?: OtherContent;
}

const MANAGER = 'namespace-controller';
/** Interval for a namespace with remaining content; usually a deletion in it triggers earlier. */
const LOOK_AGAIN_MS = 5000;

/** Runs until the signal is aborted. */
export async function runNamespaceController(
  deps: NamespaceControllerDeps,
  signal: AbortSignal,
): Promise<void> {
  const namespaces = deps.registry.find('', 'v1', 'namespaces');
  if (namespaces === undefined) return;
  const caller = controllerCaller(MANAGER, signal);
  const queue = createWorkQueue({
    clock: deps.clock,
    work: (name) => visit(deps, namespaces, name, caller),
    onError: (name, err) =>
      deps.log.warn({ err, namespace: name }, 'Failed to delete namespace content; retrying'),
  });
  const ending = new Set<string>();
  const following = followAll({
    registry: deps.registry,
    cache: deps.cache,
    wanted: isCollectable,
    onChange(resource, { type, current }) {
      const deleted = type === 'DELETED';
      if (resource === namespaces && deleted) ending.delete(current.name);
      else if (resource === namespaces && current.object().metadata.deletionTimestamp !== undefined) {
        ending.add(current.name);
        queue.add(current.name);
      } else if (deleted && ending.has(current.namespace)) queue.add(current.namespace);
    },
  });
  await queue.run(signal);
  following.close();
}

async function visit(
  deps: NamespaceControllerDeps,
  namespaces: Resource,
  name: string,
  caller: Caller,
): Promise<number | undefined> {
  await deps.cache.waitForNewest();
  const found = deps.cache.resource(namespaces.storage).get(name)?.object();
  if (found?.metadata.deletionTimestamp === undefined) return undefined;
  const { finalizers = [] } = typed<Namespace>(found).spec ?? {};
  if (!finalizers.includes(deps.finalizer)) return undefined;
  const emptied = await emptyAll(deps, name, caller);
  await showConditions(deps, namespaces, found, emptied, caller);
  if (emptied.failures.length > 0)
    throw new AggregateError(emptied.failures, `failed to delete all content of namespace ${name}`);
  if (emptied.remains.length > 0 || emptied.unknown.length > 0) return LOOK_AGAIN_MS;
  await finalize(deps, namespaces, name, caller);
  return undefined;
}

async function emptyAll(deps: NamespaceControllerDeps, name: string, caller: Caller): Promise<Emptied> {
  const own = await empty(deps, name, caller);
  const others = await deps.others?.empty(name, caller.signal);
  if (others === undefined) return own;
  return {
    failures: [...own.failures, ...others.failures],
    remains: [...own.remains, ...others.remains],
    unknown: others.unknown,
  };
}

/** Runs one round of deletion in the namespace; objects with finalizers or a grace period remain for now. */
async function empty(deps: NamespaceControllerDeps, namespace: string, caller: Caller): Promise<Emptied> {
  const failures: Error[] = [];
  const remains: Remains[] = [];
  const selection = { namespace, labels: [], fields: [] };
  for (const resource of deps.registry.all()) {
    if (!resource.info.namespaced || !isCollectable(resource)) continue;
    try {
      const request = { dryRun: false, propagationPolicy: 'Background' } as const;
      const before = await deps.cache.resource(resource.storage).list(selection);
      if (before.items.length === 0) continue;
      await deps.verbs.deleteCollection({ ...request, resource, selection, caller });
      await deps.cache.waitForNewest();
      const { items } = await deps.cache.resource(resource.storage).list(selection);
      const finalizers = items.flatMap((item) => item.object().metadata.finalizers ?? []);
      if (items.length > 0) remains.push({ name: nameOf(resource), count: items.length, finalizers });
    } catch (thrown) {
      failures.push(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
  }
  return { failures, remains, unknown: [] };
}

async function showConditions(
  deps: NamespaceControllerDeps,
  resource: Resource,
  { metadata }: ApiObject,
  emptied: Emptied,
  caller: Caller,
): Promise<void> {
  const conditions = deletionConditions(emptied, formatTime(deps.clock.now()));
  await unlessGone(() =>
    deps.verbs.update({
      ref: { resource, namespace: '', name: metadata.name ?? '' },
      change: (live) => {
        const { status } = typed<Namespace>(live);
        live['status'] = { ...status, conditions: mergeConditions(status?.conditions ?? [], conditions) };
        return live;
      },
      dryRun: false,
      fieldManager: MANAGER,
      subresource: 'status',
      caller,
    }),
  );
}

async function finalize(
  deps: NamespaceControllerDeps,
  resource: Resource,
  name: string,
  caller: Caller,
): Promise<void> {
  await unlessGone(() =>
    deps.verbs.update({
      ref: { resource, namespace: '', name },
      change: (live) => {
        const { finalizers = [] } = typed<Namespace>(live).spec ?? {};
        live['spec'] = { finalizers: finalizers.filter((finalizer) => finalizer !== deps.finalizer) };
        return live;
      },
      dryRun: false,
      fieldManager: MANAGER,
      subresource: 'finalize',
      caller,
    }),
  );
}
