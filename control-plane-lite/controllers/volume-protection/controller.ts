/** Protects claims that pods use, and volumes that claims are bound to, from removal. */

import type { PersistentVolume } from '#api/gen/core-v1.ts';
import type { WatchHandle } from '../../cache/contract.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { type Controller, type ControllerContext, defineController } from '../skeleton/declaration.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { followClaimUse } from './claims-in-use.ts';
import { decideHold } from './decide.ts';

/** A protected kind. */
interface Protection {
  readonly kind: 'persistentvolumeclaims' | 'persistentvolumes';
  readonly finalizer: string;
  readonly isUsed: (key: string, object: ApiObject) => boolean;
}

function setHold({ metadata }: ApiObject, finalizer: string, held: boolean): void {
  const others = (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  const next = held ? [...others, finalizer] : others;
  if (next.length > 0) metadata.finalizers = next;
  else delete metadata.finalizers;
}

async function reconcile(
  context: ControllerContext,
  protection: Protection,
  key: string,
): Promise<undefined> {
  const { kind, finalizer, isUsed } = protection;
  const cache = context.cacheOf(kind);
  const decide = (): ReturnType<typeof decideHold> => {
    const object = cache.get(key)?.object();
    if (object === undefined) return undefined;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    return decideHold({
      deleting: deletionTimestamp !== undefined,
      held: finalizers.includes(finalizer),
      inUse: isUsed(key, object),
    });
  };
  if (decide() === undefined) return;
  // The cache may not contain the latest user of the object yet.
  await context.cache.waitForNewest();
  const action = decide();
  const cached = cache.get(key);
  if (action === undefined || cached === undefined) return;
  const uid = cached.object().metadata.uid ?? '';
  await changeObject(context.client, refOf(context.resourceOf(kind), cached), uid, (draft) =>
    setHold(draft, finalizer, action === 'add'),
  );
}

/** Queues each object of the kind that was added or changed. */
const follow = (context: ControllerContext, kind: Protection['kind']): WatchHandle =>
  context.cacheOf(kind).follow(({ type, current }) => {
    if (type !== 'DELETED') context.queue.add(current.key);
  });

export const claimProtectionController: Controller = defineController({
  name: 'pvc-protection',
  identity: 'pvc-protection-controller',
  watches: ['persistentvolumeclaims', 'pods'],
  writes: { persistentvolumeclaims: { update: ['metadata.finalizers'] } },
  start(context) {
    const inUse = followClaimUse(context.cacheOf('pods'), (key) => context.queue.add(key));
    const protection: Protection = {
      kind: 'persistentvolumeclaims',
      finalizer: `${context.vocabulary.domain}/pvc-protection`,
      isUsed: (key, claim) => inUse.isUsed(key, claim),
    };
    const claims = follow(context, 'persistentvolumeclaims');
    return { reconcile: (key) => reconcile(context, protection, key), follows: [inUse, claims] };
  },
});

export const volumeProtectionController: Controller = defineController({
  name: 'pv-protection',
  identity: 'pv-protection-controller',
  watches: ['persistentvolumes'],
  writes: { persistentvolumes: { update: ['metadata.finalizers'] } },
  start(context) {
    const protection: Protection = {
      kind: 'persistentvolumes',
      finalizer: `${context.vocabulary.domain}/pv-protection`,
      isUsed: (_, volume) => typed<PersistentVolume>(volume).status?.phase === 'Bound',
    };
    const follows = [follow(context, 'persistentvolumes')];
    return { reconcile: (key) => reconcile(context, protection, key), follows };
  },
});
