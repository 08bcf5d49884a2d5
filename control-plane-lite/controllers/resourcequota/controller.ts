/** Resource quota controller: recalculates usage when a quota is created or changed, when a counted object is
 *  deleted or finishes, and periodically. Admission charges new objects. */

import { isDeepStrictEqual } from 'node:util';
import type { Pod, ResourceQuota } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { CacheChange, CachedObject } from '../../cache/contract.ts';
import type { Amounts } from '../../quota/amounts.ts';
import type { PendingCharge, PendingCharges } from '../../quota/pending.ts';
import { isCounted } from '../../quota/pods.ts';
import { concernsKind } from '../../quota/usage.ts';
import type { Resource } from '../../resources/contract.ts';
import type { ResourceRegistry } from '../../resources/registry.ts';
import { typed } from '../../resources/view.ts';
import { followAll } from '../follow-all.ts';
import { type Controller, defineController } from '../skeleton/declaration.ts';
import { type ControllerClient, refOf } from '../workloads-kit/controller-base.ts';
import type { WorkloadDeps } from '../workloads-kit/deps.ts';
import type { KeyQueue } from '../workloads-kit/run-keys.ts';
import { sameStatus } from '../workloads-kit/same-status.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { type Counted, quotaStatus } from './decide.ts';

/** Interval of full recalculation, in ms: a charged object may never have been created. */
const RECOUNT_MS = 300_000;
/** Delay of the next recalculation after a difference: an admitted object may not have been stored yet. */
const SETTLE_MS = 1000;

interface Parts {
  readonly deps: WorkloadDeps;
  readonly client: ControllerClient;
  readonly registry: ResourceRegistry;
  readonly quotas: Resource;
  readonly queue: KeyQueue;
  /** Charged by admission and not stored yet. */
  readonly pending: Pick<PendingCharges, 'of'>;
}

/** Objects of a namespace from the cache, without list pages. */
async function objectsIn(
  cache: WorkloadDeps['cache'],
  { storage }: Resource,
  namespace: string,
): Promise<readonly CachedObject[]> {
  const { items } = await cache.resource(storage).list({ namespace, labels: [], fields: [] });
  return items;
}

const isCountable = ({ info, stored }: Resource): boolean =>
  stored === undefined && info.namespaced && info.verbs.includes('create') && info.verbs.includes('list');

/** Counted objects of a kind. */
interface SeenKind extends Counted {
  readonly items: readonly CachedObject[];
}

async function countAll(
  { deps, registry }: Parts,
  namespace: string,
  quota: ResourceQuota,
): Promise<readonly SeenKind[]> {
  const names = Object.keys(quota.spec?.hard ?? {});
  const limited = registry
    .all()
    .filter(
      (resource) =>
        isCountable(resource) && names.some((name) => concernsKind(resource.info, name, deps.vocabulary)),
    );
  return Promise.all(
    limited.map(async (resource) => {
      const items = await objectsIn(deps.cache, resource, namespace);
      return { kind: resource.info, items, objects: items.map((item) => item.object()) };
    }),
  );
}

/** Charges for objects that the count has not seen, or not in their final state. */
function notCounted(pending: readonly PendingCharge[], counted: readonly SeenKind[]): readonly Amounts[] {
  if (pending.length === 0) return [];
  const seen = new Map(
    counted.flatMap(({ kind, items }) =>
      items.map(({ key, revision }) => [`${kind.group}/${kind.plural}/${key}`, revision] as const),
    ),
  );
  return pending
    .filter(({ resource: { info }, key, afterRevision }) => {
      const revision = seen.get(`${info.group}/${info.plural}/${key}`) ?? 0;
      return revision <= afterRevision;
    })
    .map(({ delta }) => delta);
}

async function reconcile(parts: Parts, key: string): Promise<number | undefined> {
  const { deps, quotas, queue, client } = parts;
  const cached = deps.cache.resource(quotas.storage).get(key);
  if (cached === undefined) return undefined;
  const object = cached.object();
  const quota = typed<ResourceQuota>(object);
  // Read first: objects stored from now on are counted, or were charged after this state of the quota.
  const pending = parts.pending.of(cached.namespace, cached.name, cached.revision);
  const counted = await countAll(parts, cached.namespace, quota);
  const promised = notCounted(pending, counted);
  const status = quotaStatus(quota, counted, deps.vocabulary, deps.clock.now(), promised);
  if (sameStatus('core/v1.ResourceQuotaStatus', status, quota.status))
    return pending.length === 0 ? RECOUNT_MS : SETTLE_MS;
  queue.expect(key);
  const { uid = '', resourceVersion } = object.metadata;
  try {
    await changeObject(
      client,
      refOf(quotas, cached),
      uid,
      (draft) => {
        // Admission has meanwhile charged an object that the count could not see.
        if (draft.metadata.resourceVersion !== resourceVersion) {
          throw new StatusError('Conflict', `${key} changed`);
        }
        draft['status'] = status;
      },
      'status',
    );
  } catch (thrown) {
    if (thrown instanceof StatusError && thrown.reason === 'Conflict') return 0;
    throw thrown;
  }
  return SETTLE_MS;
}

/** Reports whether the change may have released quota. */
function frees({ type, current, previous }: CacheChange, { info }: Resource, nowMs: number): boolean {
  if (type === 'DELETED') return true;
  if (previous === undefined || info.group !== '') return false;
  if (info.plural === 'services' || info.plural === 'persistentvolumeclaims') return true;
  if (info.plural !== 'pods') return false;
  const [pod, before] = [current, previous].map((each) => typed<Pod>(each.object()));
  return before !== undefined && pod !== undefined && isCounted(before, nowMs) && !isCounted(pod, nowMs);
}

export const resourceQuotaController: Controller = defineController({
  name: 'resourcequota',
  identity: 'resourcequota-controller',
  watches: ['resourcequotas'],
  everyKind: { reason: 'counts objects of every kind that a quota may limit' },
  writes: { resourcequotas: { status: ['status'] } },
  start(context) {
    const { cache, clock, queue, client } = context;
    const registry = context.allKinds();
    const quotas = context.resourceOf('resourcequotas');
    const pending = context.settings.pendingCharges;
    const parts: Parts = { deps: context, client, registry, quotas, queue, pending };
    const quotasOf = new Map<string, Set<string>>();
    const following = context.cacheOf('resourcequotas').follow(({ type, current }) => {
      const keys = quotasOf.get(current.namespace) ?? new Set<string>();
      if (type === 'DELETED') keys.delete(current.key);
      else keys.add(current.key);
      if (keys.size === 0) quotasOf.delete(current.namespace);
      else quotasOf.set(current.namespace, keys);
      const { spec, status } = typed<ResourceQuota>(current.object());
      if (type === 'ADDED' || !isDeepStrictEqual(spec?.hard ?? {}, status?.hard ?? {}))
        queue.add(current.key);
    });
    const all = followAll({
      registry,
      cache,
      wanted: isCountable,
      onChange(resource, change) {
        const keys = quotasOf.get(change.current.namespace);
        if (keys === undefined || !frees(change, resource, clock.now())) return;
        for (const key of keys) queue.addSoon(key);
      },
    });
    return { reconcile: (key) => reconcile(parts, key), follows: [following, all] };
  },
});
