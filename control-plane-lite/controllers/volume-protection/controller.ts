/** Protects claims that pods use, and volumes that claims are bound to, from removal. */
import type { PersistentVolume } from '#api/gen/core-v1.ts';
import type { ApiObject, Resource } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';
import { controllerCaller } from '../../verbs/controller-caller.ts';
import { refOf } from '../workloads-kit/controller-base.ts';
import { findResource, managerName, type WorkloadDeps } from '../workloads-kit/deps.ts';
import { createKeyLoop, type KeyLoop } from '../workloads-kit/run-keys.ts';
import { changeObject } from '../workloads-kit/write-status.ts';
import { followClaimUse } from './claims-in-use.ts';
import { decideHold } from './decide.ts';

interface Protection {
  readonly resource: Resource;
  readonly finalizer: string;
  /** Name of the protected kind for the log. */
  readonly controller: string;
  readonly isUsed: (key: string, object: ApiObject) => boolean;
}

function setHold({ metadata }: ApiObject, finalizer: string, held: boolean): void {
  const others = (metadata.finalizers ?? []).filter((each) => each !== finalizer);
  const next = held ? [...others, finalizer] : others;
  if (next.length > 0) metadata.finalizers = next;
  else delete metadata.finalizers;
}

function createProtectionLoop(
  deps: WorkloadDeps,
  signal: AbortSignal,
  protection: () => Protection,
): KeyLoop {
  const { cache, verbs, vocabulary } = deps;
  const decide = (key: string): ReturnType<typeof decideHold> => {
    const { resource, finalizer, isUsed } = protection();
    const object = cache.resource(resource.storage).get(key)?.object();
    if (object === undefined) return undefined;
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    return decideHold({
      deleting: deletionTimestamp !== undefined,
      held: finalizers.includes(finalizer),
      inUse: isUsed(key, object),
    });
  };
  return createKeyLoop(deps, async (key) => {
    const { resource, finalizer, controller } = protection();
    if (decide(key) === undefined) return undefined;
    // An object that appears unused may have been taken into use a moment ago.
    await cache.waitForNewest();
    const action = decide(key);
    const cached = cache.resource(resource.storage).get(key);
    if (action === undefined || cached === undefined) return undefined;
    const caller = controllerCaller(controller, signal);
    const client = { verbs, caller, fieldManager: managerName(vocabulary) };
    const uid = cached.object().metadata.uid ?? '';
    await changeObject(client, refOf(resource, cached), uid, (draft) =>
      setHold(draft, finalizer, action === 'add'),
    );
    return undefined;
  });
}

/** Runs until the signal is aborted. */
export async function runClaimProtection(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const resource = findResource(deps, 'v1', 'persistentvolumeclaims');
  const pods = findResource(deps, 'v1', 'pods');
  if (resource === undefined || pods === undefined) return;
  const { cache, vocabulary } = deps;
  const loop = createProtectionLoop(deps, signal, () => protection);
  const inUse = followClaimUse(cache.resource(pods.storage), (key) => loop.due(key));
  const protection: Protection = {
    resource,
    finalizer: `${vocabulary.domain}/pvc-protection`,
    controller: 'pvc-protection-controller',
    isUsed: (key, claim) => inUse.isUsed(key, claim),
  };
  const claims = cache.resource(resource.storage).follow(({ type, current }) => {
    if (type !== 'DELETED') loop.due(current.key);
  });
  await loop.run(signal, inUse, claims);
}

/** Runs until the signal is aborted. */
export async function runVolumeProtection(deps: WorkloadDeps, signal: AbortSignal): Promise<void> {
  const resource = findResource(deps, 'v1', 'persistentvolumes');
  if (resource === undefined) return;
  const protection: Protection = {
    resource,
    finalizer: `${deps.vocabulary.domain}/pv-protection`,
    controller: 'pv-protection-controller',
    isUsed: (_, volume) => typed<PersistentVolume>(volume).status?.phase === 'Bound',
  };
  const loop = createProtectionLoop(deps, signal, () => protection);
  const volumes = deps.cache.resource(resource.storage).follow(({ type, current }) => {
    if (type !== 'DELETED') loop.due(current.key);
  });
  await loop.run(signal, volumes);
}
