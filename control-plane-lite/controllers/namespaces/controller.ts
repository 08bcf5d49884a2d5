/** Namespace controller: deletes the content of terminating namespaces, then finalizes them. Source:
 *  namespace deletion, document 1 §4.1; upstream's namespace controller and its conditions. */

import type { Namespace } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { formatTime } from '#api/meta/time.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { unlessGone } from '../../verbs/unless-gone.ts';
import { followAll, isCollectable } from '../follow-all.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import type { Emptied, Remains } from '../skeleton/settings.ts';
import { deletionConditions, mergeConditions, nameOf } from './conditions.ts';

/** Interval for a namespace with remaining content; usually a deletion in it triggers earlier. */
const RECHECK_MS = 5000;

async function reconcile(context: ControllerContext, name: string): Promise<number | undefined> {
  const { cache, vocabulary } = context;
  await cache.waitForNewest();
  const found = context.cacheOf('namespaces').get(name)?.object();
  if (found?.metadata.deletionTimestamp === undefined) return undefined;
  const { finalizers = [] } = typed<Namespace>(found).spec ?? {};
  if (!finalizers.includes(vocabulary.namespaceFinalizer)) return undefined;
  const emptied = await emptyAll(context, name);
  await writeConditions(context, found, emptied);
  if (emptied.failures.length > 0)
    throw new AggregateError(emptied.failures, `failed to delete all content of namespace ${name}`);
  if (emptied.remains.length > 0 || emptied.unknown.length > 0) return RECHECK_MS;
  await finalize(context, name);
  return undefined;
}

async function emptyAll(context: ControllerContext, name: string): Promise<Emptied> {
  const own = await empty(context, name);
  const others = await context.settings.otherContent?.empty(name, context.signal);
  if (others === undefined) return own;
  return {
    failures: [...own.failures, ...others.failures],
    remains: [...own.remains, ...others.remains],
    unknown: others.unknown,
  };
}

/** Runs one round of deletion in the namespace; objects with finalizers or a grace period remain for now. */
async function empty(context: ControllerContext, namespace: string): Promise<Emptied> {
  const { cache, client } = context;
  const failures: Error[] = [];
  const remains: Remains[] = [];
  const selection = { namespace, labels: [], fields: [] };
  for (const resource of context.allKinds().all()) {
    if (!resource.info.namespaced || !isCollectable(resource)) continue;
    try {
      const request = { dryRun: false, propagationPolicy: 'Background' } as const;
      const before = await cache.resource(resource.storage).list(selection);
      if (before.items.length === 0) continue;
      await client.verbs.deleteCollection({ resource, selection, ...request, caller: client.caller });
      await cache.waitForNewest();
      const { items } = await cache.resource(resource.storage).list(selection);
      const finalizers = items.flatMap((item) => item.object().metadata.finalizers ?? []);
      if (items.length > 0) remains.push({ name: nameOf(resource), count: items.length, finalizers });
    } catch (thrown) {
      failures.push(asError(thrown));
    }
  }
  return { failures, remains, unknown: [] };
}

/** Updates a subresource of the namespace, if the namespace still exists. */
async function update(
  context: ControllerContext,
  name: string,
  subresource: 'status' | 'finalize',
  change: (draft: ApiObject) => void,
): Promise<void> {
  const { client } = context;
  await unlessGone(() =>
    client.verbs.update({
      ref: { resource: context.resourceOf('namespaces'), namespace: '', name },
      change: (live) => {
        change(live);
        return live;
      },
      dryRun: false,
      fieldManager: client.fieldManager,
      subresource,
      caller: client.caller,
    }),
  );
}

async function writeConditions(
  context: ControllerContext,
  { metadata }: ApiObject,
  emptied: Emptied,
): Promise<void> {
  const conditions = deletionConditions(emptied, formatTime(context.clock.now()));
  await update(context, metadata.name ?? '', 'status', (draft) => {
    const { status } = typed<Namespace>(draft);
    draft['status'] = { ...status, conditions: mergeConditions(status?.conditions ?? [], conditions) };
  });
}

async function finalize(context: ControllerContext, name: string): Promise<void> {
  const { namespaceFinalizer } = context.vocabulary;
  await update(context, name, 'finalize', (draft) => {
    const { finalizers = [] } = typed<Namespace>(draft).spec ?? {};
    draft['spec'] = { finalizers: finalizers.filter((finalizer) => finalizer !== namespaceFinalizer) };
  });
}

export const namespaceController: Controller = defineController({
  name: 'namespace',
  identity: 'namespace-controller',
  watches: ['namespaces'],
  everyKind: { reason: 'deletes all objects of a terminating namespace', writes: { delete: true } },
  writes: { namespaces: { status: ['status.conditions'], finalize: ['spec.finalizers'] } },
  ownFieldManager: true,
  workers: 4,
  start(context) {
    const { cache, queue, log } = context;
    const namespaces = context.resourceOf('namespaces');
    const terminating = new Set<string>();
    const following = followAll({
      registry: context.allKinds(),
      cache,
      wanted: isCollectable,
      onChange(resource, { type, current }) {
        const deleted = type === 'DELETED';
        if (resource === namespaces && deleted) terminating.delete(current.name);
        else if (resource === namespaces && current.object().metadata.deletionTimestamp !== undefined) {
          terminating.add(current.name);
          queue.add(current.name);
        } else if (deleted && terminating.has(current.namespace)) queue.add(current.namespace);
      },
    });
    return {
      reconcile: (name) => reconcile(context, name),
      follows: [following],
      onError: (name, err) =>
        log.warn({ err, namespace: name }, 'Failed to delete namespace content; retrying'),
    };
  },
});
